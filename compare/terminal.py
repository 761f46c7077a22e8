"""What a comparison shows on the terminal: progress and the table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from compare.group_table import GroupRow, group_rows, shown_columns
from compare.matrix import Progress as Matrix
from compare.metrics import METRICS, Metric
from compare.published_tables import PublishedRow
from compare.statistics import MIN_VALUES, Estimate
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
    """Return lo to hi; where there are too few runs for an interval, how many there are."""
    if found.interval is None:
        return "1 run" if found.n == 1 else f"{found.n} runs"
    lo, hi = found.interval
    return f"{number(lo)} to {number(hi)}"


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


def print_tables(console: Console, cells: list[Cell], published: list[PublishedRow]) -> None:
    """Print one table per scenario: mean and, below it, the 95 % interval; published figures where there are any.

    In the wide table of several flows it is half the interval's width.
    """
    for scenario in dict.fromkeys(cell.scenario.name for cell in cells):
        mine = [cell for cell in cells if cell.scenario.name == scenario]
        rows = group_rows(mine, published)
        console.print(_group_table(mine, rows) if rows else _table(mine))
    console.print(
        "mean over the seeds; below it the bootstrap 95 % interval of the mean (±: half of it), which needs at least "
        f"{MIN_VALUES} runs",
        style="dim",
    )


def _empty_table(cells: list[Cell]) -> Table:
    title = f"{cells[0].scenario.name}: {cells[0].scenario.claim}"
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)


def _table(cells: list[Cell]) -> Table:
    """Return the table of a scenario with one flow."""
    table = _empty_table(cells)
    table.add_column("scheme")
    for metric in METRICS:
        table.add_column(_heading(metric), justify="right")
    table.add_column("n", justify="right")
    for cell in cells:
        estimates = cell.estimates()
        table.add_row(cell.scheme.name, *(_value(estimates.get(metric.name)) for metric in METRICS), _runs(cell))
    return table


def _group_table(cells: list[Cell], rows: list[GroupRow]) -> Table:
    """Return the table of a scenario with several flows or latencies: a row per scheme and group."""
    table = _empty_table(cells)
    columns = shown_columns(rows)
    table.add_column("scheme\n[dim]flows[/dim]", no_wrap=True)
    for metric in columns:
        table.add_column(_heading(metric), justify="right")
    table.add_column("n", justify="right")
    for row in rows:
        values = [_narrow_value(row.measured.get(metric.name)) for metric in columns]
        table.add_row(f"{row.cell.scheme.name}\n[dim]{row.group.title}[/dim]", *values, _runs(row.cell))
        if row.published:
            figures = [row.figure(metric.name) for metric in columns]
            shown = ["" if value is None else number(value) for value in figures]
            table.add_row("published", *shown, "", style="cyan")
    for cell in cells:
        if not cell.seeds:
            table.add_row(cell.scheme.name, *([""] * len(columns)), _runs(cell))
    return table


def _narrow_value(found: Estimate | None) -> str:
    """Return the mean and, where seeds differ, half the width of its interval below it: such a table is wide."""
    if found is None:
        return ""
    lo, hi = found.interval or (found.mean, found.mean)
    return number(found.mean) + (f"\n[dim]±{number((hi - lo) / 2)}[/dim]" if hi > lo else "")


def _runs(cell: Cell) -> str:
    return f"{len(cell.seeds)}" + (f"\n[red]{len(cell.failed)} failed[/red]" if cell.failed else "")


def _heading(metric: Metric) -> str:
    name = metric.name.replace("_", "\n")
    return name if metric.unit == "count" else f"{name}\n[dim]{metric.unit}[/dim]"


def _value(found: Estimate | None) -> str:
    if found is None:
        return "no value"
    if found.interval is None:
        return number(found.mean)
    lo, hi = found.interval
    return f"{number(found.mean)}\n[dim]{number(lo)}–{number(hi)}[/dim]"
