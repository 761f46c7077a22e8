"""The terminal and the progress of the runs, drawn by rich."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from compare.experiment.matrix import Progress as Matrix
from env.errors import printable

Report = Callable[[Matrix], None]  # called after every run
PIPE_WIDTH = 120  # columns without a terminal


class _Terminal(Console):
    """Writes out control characters of texts that others may have made, such as a scenario's claim."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def terminal() -> Console:
    """Return the console of standard output; COLUMNS sets its width."""
    return _Terminal(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH)


@contextmanager
def shown_progress(console: Console) -> Iterator[Report]:
    """Show a bar with runs done and time left; without a terminal, print a line per tenth of the runs."""
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
