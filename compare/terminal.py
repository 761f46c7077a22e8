"""What a comparison shows on the terminal: progress and the table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from compare.matrix import Progress as Matrix
from compare.metrics import METRICS, Metric
from compare.statistics import Estimate
from compare.summary import Cell

Report = Callable[[Matrix], None]  # told after every run how far the matrix is
PIPE_WIDTH = 120  # columns of a table that goes into a file


def terminal() -> Console:
    """Return the console of standard output."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def number(value: float) -> str:
    """Return a value with three significant digits, and whole numbers from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def interval(found: Estimate) -> str:
    """Return lo to hi."""
    return f"{number(found.lo)} to {number(found.hi)}"


@contextmanager
def shown_progress(console: Console) -> Iterator[Report]:
    """Show a bar with runs done and time left; where there is no terminal, a line per tenth of the runs."""
    if not console.is_terminal:
        shown = -1

        def line(matrix: Matrix) -> None:
            nonlocal shown
            tenth = 10 * matrix.done // matrix.total
            if tenth != shown:
                shown = tenth
                console.print(f"{matrix.done}/{matrix.total} runs, {matrix.failed} failed", highlight=False)

        yield line
        return
    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[failed]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("runs", total=None, failed="")

        def update(matrix: Matrix) -> None:
            failed = f"{matrix.failed} failed" if matrix.failed else ""
            bar.update(task, total=matrix.total, completed=matrix.done, failed=failed)

        yield update


def print_table(console: Console, cells: list[Cell]) -> None:
    """Print one table per scenario: mean and, below it, the 95 % interval."""
    for scenario in dict.fromkeys(cell.scenario.name for cell in cells):
        mine = [cell for cell in cells if cell.scenario.name == scenario]
        table = Table(title=f"{scenario}: {mine[0].scenario.claim}", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("scheme")
        for metric in METRICS:
            table.add_column(_heading(metric), justify="right")
        table.add_column("n", justify="right")
        for cell in mine:
            estimates = cell.estimates()
            values = [_value(estimates.get(metric.name)) for metric in METRICS]
            runs = f"{len(cell.seeds)}" + (f"\n[red]{len(cell.failed)} failed[/red]" if cell.failed else "")
            table.add_row(cell.scheme.name, *values, runs)
        console.print(table)
    console.print("mean over the seeds; below it the bootstrap 95 % interval of the mean", style="dim")


def _heading(metric: Metric) -> str:
    name = metric.name.replace("_", "\n")
    return name if metric.unit == "count" else f"{name}\n[dim]{metric.unit}[/dim]"


def _value(found: Estimate | None) -> str:
    return "no value" if found is None else f"{number(found.mean)}\n[dim]{number(found.lo)}–{number(found.hi)}[/dim]"
