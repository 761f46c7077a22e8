"""The tables of a comparison on the terminal, drawn by rich."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from compare.metrics.cells import Cell, by_scenario
from compare.metrics.metric import Metric
from compare.report import metric_layout
from compare.report.content import Comparison, Value, group_table, scenario_table
from compare.report.groups import GroupRow, group_rows
from compare.statistics.estimates import MIN_VALUES
from compare.statistics.numbers import DIMENSIONLESS, counted, number
from compare.statistics.winners import Winners


def print_tables(console: Console, comparison: Comparison) -> None:
    """Print the main metrics of every scenario, with half the 95 % interval below the mean, and published figures.

    Columns behind the first ones that do not fit the terminal are left out. The first ones go to further tables then.
    """
    winners = Winners(comparison.comparisons)
    for scenario, cells in by_scenario(comparison.cells).items():
        rows = group_rows(cells, comparison.published)
        console.print()
        console.print(f"{scenario}: {cells[0].scenario.claim}", style="italic", markup=False, highlight=False)
        first, columns = _group_columns(cells, rows, winners) if rows else _columns(cells, winners)
        for table in _fitting(console, first, columns):
            console.print(table)
    seeds = comparison.experiment.seeds
    note = (
        f"Means of {seeds} seeds; ±: half the 95 % interval; *: best, or not shown to be worse."
        if seeds >= MIN_VALUES
        else f"{counted(seeds, 'seed')}; from seeds={MIN_VALUES} on with intervals, and a * at the best."
    )
    console.print(note, style="dim", highlight=False)


@dataclass(frozen=True)
class _Column:
    """A column of a table, as markup. entries: one for each row. always: also on a narrow terminal."""

    heading: str
    entries: list[str]
    always: bool = False


def _fitting(console: Console, first: _Column, columns: list[_Column]) -> list[Table]:
    """Return the columns as tables that fit the terminal; each table begins with the first column."""
    while not columns[-1].always and _width(console, _build(first, columns)) > console.width:
        columns = columns[:-1]
    tables: list[Table] = []
    fitting: list[_Column] = []
    for column in columns:
        if fitting and _width(console, _build(first, [*fitting, column])) > console.width:
            tables.append(_build(first, fitting))
            fitting = []
        fitting.append(column)
    return [*tables, _build(first, fitting)]


def _width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum


def _build(first: _Column, columns: list[_Column]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first.heading, no_wrap=True)
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in zip(first.entries, *(column.entries for column in columns), strict=True):
        table.add_row(*row)
    return table


def _columns(cells: list[Cell], winners: Winners) -> tuple[_Column, list[_Column]]:
    """Return the columns of a scenario with one flow, the important ones first."""
    chosen = metric_layout.chosen(cells, dict.fromkeys((*metric_layout.FIRST, *metric_layout.MAIN)))
    table = scenario_table(cells, chosen, winners)
    names = [escape(cell.scheme.short_name) for cell in cells]
    columns = [
        _column(metric, [_value(values[index]) or "no value" for _, values in table.rows])
        for index, metric in enumerate(table.metrics)
    ]
    return _Column("scheme", names), [*_runs(cells), *columns]


def _group_columns(cells: list[Cell], rows: list[GroupRow], winners: Winners) -> tuple[_Column, list[_Column]]:
    """Return the columns of a scenario with several flows or latencies: a row per scheme and group."""
    metrics, lines = group_table(rows, [cell for cell in cells if cell.seeds], winners)
    order = sorted(range(len(metrics)), key=lambda index: _place(metrics[index]))
    names: list[str] = []
    of_rows: list[Cell | None] = []
    body: list[list[str]] = []
    for line in lines:
        names.append(f"{escape(line.cell.scheme.short_name)}\n[dim]{escape(line.flows)}[/dim]")
        body.append([_value(value) for value in line.values])
        of_rows.append(line.cell)
        if line.published:
            names.append("[cyan]published[/cyan]")
            body.append(["" if value is None else f"[cyan]{number(value)}[/cyan]" for value in line.published])
            of_rows.append(None)
    for cell in cells:
        if not cell.seeds:
            names.append(escape(cell.scheme.short_name))
            body.append([""] * len(metrics))
            of_rows.append(cell)
    columns = [_column(metrics[index], [entries[index] for entries in body]) for index in order]
    return _Column("scheme\n[dim]flows[/dim]", names), [*_runs(of_rows), *columns]


def _place(metric: Metric) -> int:
    first = metric_layout.FIRST
    return first.index(metric.name) if metric.name in first else len(first)


def _column(metric: Metric, entries: list[str]) -> _Column:
    return _Column(_heading(metric), entries, metric.name in metric_layout.FIRST)


def _runs(cells: Sequence[Cell | None]) -> list[_Column]:
    """Return the column of failed and missing runs; none if all are there. cells: that of each row."""
    entries = []
    for cell in cells:
        lost = {"failed": cell.failed, "missing": cell.missing} if cell else {}
        lines = [f"[red]{len(runs)} {word}[/red]" for word, runs in lost.items() if runs]
        entries.append("\n".join(lines))
    return [_Column("runs", entries, True)] if any(entries) else []


def _heading(metric: Metric) -> str:
    name = metric.name.replace("_", "\n")
    return name if metric.unit in DIMENSIONLESS else f"{name}\n[dim]{metric.unit}[/dim]"


def _value(value: Value) -> str:
    """Return the mean with half its interval's width below it, if seeds differ."""
    if value.estimate is None:
        return ""
    lo, hi = value.estimate.interval or (0.0, 0.0)
    # the star marks winners on terminals without colours
    mean = f"[bold green]*{value.mean}[/bold green]" if value.wins else value.mean
    return mean + (f"\n[dim]±{number((hi - lo) / 2, 2)}[/dim]" if hi > lo else "")
