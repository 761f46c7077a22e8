"""The tables of a comparison on the terminal, drawn by rich."""

from __future__ import annotations

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
from compare.report.metric_layout import FIRST
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
    """A column of a table, as markup. entries: one for each row. place: in FIRST; its length for the others."""

    heading: str
    entries: list[str]
    place: int = 0


def _fitting(console: Console, first: _Column, columns: list[_Column]) -> list[Table]:
    """Return the columns as tables that fit the terminal; each table begins with the first column."""
    columns = sorted(columns, key=lambda column: column.place)
    while columns and columns[-1].place == len(FIRST) and _width(console, _build(first, columns)) > console.width:
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
    """Return the columns of a scenario with one flow."""
    table = scenario_table(cells, metric_layout.chosen(cells, metric_layout.MAIN), winners)
    columns = [
        _column(metric, [_value(values[index]) or "no value" for _, values in table.rows])
        for index, metric in enumerate(table.metrics)
    ]
    return _Column("scheme", [_name(cell) for cell in cells]), columns


def _group_columns(cells: list[Cell], rows: list[GroupRow], winners: Winners) -> tuple[_Column, list[_Column]]:
    """Return the columns of a scenario with several flows or latencies: a row per scheme and group."""
    metrics, lines = group_table(rows, [cell for cell in cells if cell.seeds], winners)
    names: list[str] = []
    body: list[list[str]] = []
    for line in lines:
        names.append(_name(line.cell, line.flows))
        body.append([_value(value) for value in line.values])
        if line.published:
            names.append("[cyan]published[/cyan]")
            body.append(["" if value is None else f"[cyan]{number(value)}[/cyan]" for value in line.published])
    for cell in cells:
        if not cell.seeds:
            names.append(_name(cell))
            body.append([""] * len(metrics))
    columns = [_column(metric, [entries[index] for entries in body]) for index, metric in enumerate(metrics)]
    return _Column("scheme\n[dim]flows[/dim]", names), columns


def _column(metric: Metric, entries: list[str]) -> _Column:
    place = FIRST.index(metric.name) if metric.name in FIRST else len(FIRST)
    return _Column(_heading(metric), entries, place)


def _name(cell: Cell, flows: str = "") -> str:
    """Return a scheme's name, with its flows and how many runs it lacks below it."""
    lost = {"failed": cell.failed, "missing": cell.missing}
    lines = [escape(cell.scheme.short_name), *([f"[dim]{escape(flows)}[/dim]"] if flows else [])]
    return "\n".join([*lines, *(f"[red]{len(runs)} {word}[/red]" for word, runs in lost.items() if runs)])


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
