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
from compare.report.content import Comparison
from compare.report.groups import GroupRow, group_rows, shown_columns
from compare.statistics.estimates import MIN_VALUES, Estimate, estimate_of
from compare.statistics.numbers import DIMENSIONLESS, number
from compare.statistics.winners import WINNERS_NOTE, Winners


def print_tables(console: Console, comparison: Comparison) -> None:
    """Print the main metrics of every scenario, with the 95 % interval below the mean, and published figures.

    The table of several flows, which is wide, has half the interval's width instead. Columns that do not fit the
    terminal go to further tables.
    """
    winners = Winners(comparison.comparisons)
    for scenario, of_scenario in by_scenario(comparison.cells).items():
        rows = group_rows(of_scenario, comparison.published)
        console.print()
        console.print(f"{scenario}: {of_scenario[0].scenario.claim}", style="italic", markup=False, highlight=False)
        for table in _fitting(
            console, *(_group_columns(of_scenario, rows, winners) if rows else _columns(of_scenario, winners))
        ):
            console.print(table)
    console.print(
        "Mean over the seeds; below it the bootstrap 95 % interval of the mean (±: half its width) where "
        f"there are at least {MIN_VALUES} runs that differ. All metrics are in summary.csv. {WINNERS_NOTE}",
        style="dim",
    )


@dataclass(frozen=True)
class _Column:
    """A column of a table, as markup. entries: one for each row."""

    heading: str
    entries: list[str]


def _fitting(console: Console, first: _Column, columns: list[_Column]) -> list[Table]:
    """Return the columns as tables that fit the terminal; each table begins with the first column."""
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
    metrics = metric_layout.chosen(cells, metric_layout.MAIN)
    columns = []
    for metric in metrics:
        winning = winners.of(cells, metric)
        values = [_value(estimate_of(cell, metric.name), cell.scheme.name in winning, narrow=False) for cell in cells]
        columns.append(_Column(_heading(metric), values))
    names = _Column("scheme", [escape(cell.scheme.short_name) for cell in cells])
    return names, [*columns, _Column("n", [_runs(cell) for cell in cells])]


def _group_columns(cells: list[Cell], rows: list[GroupRow], winners: Winners) -> tuple[_Column, list[_Column]]:
    """Return the columns of a scenario with several flows or latencies: a row per scheme and group."""
    metrics = shown_columns(rows)
    measured = [cell for cell in cells if cell.seeds]
    names: list[str] = []
    body: list[list[str]] = []
    for row in rows:
        names.append(f"{escape(row.cell.scheme.short_name)}\n[dim]{escape(row.group.title)}[/dim]")
        values = [
            _value(
                row.measured.get(metric.name),
                row.cell.scheme.name in winners.of(measured, row.group.metric(metric)),
                narrow=True,
            )
            for metric in metrics
        ]
        body.append([*values, _runs(row.cell)])
        if row.published:
            figures = [row.figure(metric.name) for metric in metrics]
            names.append("[cyan]published[/cyan]")
            body.append([*("" if value is None else f"[cyan]{number(value)}[/cyan]" for value in figures), ""])
    for cell in cells:
        if not cell.seeds:
            names.append(escape(cell.scheme.short_name))
            body.append([*([""] * len(metrics)), _runs(cell)])
    headings = [*map(_heading, metrics), "n"]
    columns = [_Column(heading, [entries[i] for entries in body]) for i, heading in enumerate(headings)]
    return _Column("scheme\n[dim]flows[/dim]", names), columns


def _runs(cell: Cell) -> str:
    lines = [f"{len(cell.seeds)}"]
    lines += [f"[red]{len(cell.failed)} failed[/red]"] if cell.failed else []
    lines += [f"[red]{len(cell.missing)} missing[/red]"] if cell.missing else []
    return "\n".join(lines)


def _heading(metric: Metric) -> str:
    name = metric.name.replace("_", "\n")
    return name if metric.unit in DIMENSIONLESS else f"{name}\n[dim]{metric.unit}[/dim]"


def _value(estimate: Estimate | None, wins: bool, *, narrow: bool) -> str:
    """Return the mean with its interval below it, if seeds differ. narrow: half the interval's width instead."""
    if estimate is None:
        return "" if narrow else "no value"
    if estimate.interval is None:
        return number(estimate.mean)
    lo, hi = estimate.interval
    spread = f"±{number((hi - lo) / 2)}" if narrow else f"{number(lo)}–{number(hi)}"
    # the star marks winners on terminals without colours
    mean = f"[bold green]*{number(estimate.mean)}[/bold green]" if wins else number(estimate.mean)
    return mean + (f"\n[dim]{spread}[/dim]" if hi > lo else "")
