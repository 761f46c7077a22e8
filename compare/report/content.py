"""The tables of a report, before they are HTML or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compare.experiment.experiment import Experiment, Run
from compare.metrics.cells import Cell, by_scenario, schemes_of
from compare.metrics.metric import Metric
from compare.report import metric_layout
from compare.report.given import Published, Section
from compare.report.groups import GroupRow, group_rows, shown_columns
from compare.statistics.estimates import Estimate, estimate_of
from compare.statistics.numbers import US_PER_MS, counted, interval, number, readable, scaled
from compare.statistics.paired import PairedComparison
from compare.statistics.winners import Winners
from compare.statistics.winning_rates import WIN_CONDITIONS, WinningRate, winning_rates
from env.network.scenario import Scenario
from env.network.schemes import Scheme

MOST_DIGITS = 7  # of a mean in a table: values that agree in six are printed alike
FEW_SCENARIOS = 2  # up to this number the headline has a row per scheme; above, a row per scenario


@dataclass(frozen=True)
class Comparison:
    """The content of a report.

    comparisons: of every pair of schemes. environment: the content of environment.json, empty before it is written.
    run_name: returns a run's folder, relative to the report. published: values that stand beside the measured ones.
    sections: what the report shows besides, such as a judged target.
    """

    experiment: Experiment
    cells: list[Cell]
    comparisons: list[PairedComparison]
    environment: dict[str, Any]
    run_name: Callable[[Run], str]
    published: Sequence[Published] = ()
    sections: Sequence[Section] = ()


@dataclass(frozen=True)
class Value:
    """One value of a table. estimate: None without a run. wins: whether the table marks it as a winner.

    digits: so many significant ones that a winner does not read like a loser beside it.
    """

    estimate: Estimate | None
    wins: bool = False
    digits: int = 3

    @property
    def mean(self) -> str:
        """The mean as text; empty without a run."""
        return number(self.estimate.mean, self.digits) if self.estimate else ""

    @property
    def interval(self) -> str:
        """The interval as text; empty without a run."""
        return interval(self.estimate, self.digits) if self.estimate else ""


@dataclass(frozen=True)
class MetricTable:
    """The table of one metric: a row per scenario, a value per scheme."""

    metric: Metric
    rows: list[tuple[str, list[Value]]]


@dataclass(frozen=True)
class ScenarioTable:
    """The table of one scenario: a row per scheme, a value per metric."""

    metrics: list[Metric]
    rows: list[tuple[Cell, list[Value]]]


@dataclass(frozen=True)
class GroupLine:
    """A row of the table of several flows: a scheme's values for one group of flows, and the published ones.

    name: of the published row.
    """

    cell: Cell
    flows: str
    values: list[Value]
    published: list[float | None]
    name: str


@dataclass(frozen=True)
class Headline:
    """The main results of all scenarios of one kind."""

    title: str
    tables: list[MetricTable]
    scenarios: list[tuple[str, ScenarioTable]]


@dataclass(frozen=True)
class ScenarioPage:
    """The page of one scenario.

    table: for one flow; group_metrics and group_lines replace it for several flows. sharing: metrics of how several
    flows share the network. everything: every metric, with a value per scheme. identical: labels of the schemes with
    the same result for every seed.
    """

    name: str
    scenario: Scenario
    cells: list[Cell]
    table: ScenarioTable
    everything: list[tuple[Metric, list[Value]]]
    group_rows: list[GroupRow]
    group_metrics: list[Metric]
    group_lines: list[GroupLine]
    sharing: ScenarioTable
    published: list[Published]
    sections: list[Section]
    identical: list[str]

    @property
    def sources(self) -> list[str]:
        """Where the published values are from."""
        return sorted({one.source for one in self.published if one.source})

    @property
    def measured(self) -> list[Cell]:
        """The cells with a finished run."""
        return [cell for cell in self.cells if cell.seeds]


def values_of(cells: Sequence[Cell], metric: Metric, winners: Winners) -> list[Value]:
    """Return a metric's values, one per cell of a scenario, with the winners."""
    winning = winners.of(cells, metric)
    return [Value(estimate_of(cell, metric.name), cell.scheme.name in winning) for cell in cells]


def in_readable_unit(metric: Metric, rows: Sequence[list[Value]]) -> tuple[Metric, list[list[Value]]]:
    """Return the metric and its values, in ms instead of us if all means are at least 1 ms."""
    means = (value.estimate.mean for values in rows for value in values if value.estimate)
    shown, factor = readable(metric, means)
    if factor != 1:
        rows = [
            [replace(value, estimate=scaled(value.estimate, factor)) if value.estimate else value for value in values]
            for values in rows
        ]
    return shown, [told_apart(values) for values in rows]


def told_apart(values: list[Value]) -> list[Value]:
    """Return the values with so many digits that no winner reads like another value that is not one."""
    for digits in range(3, MOST_DIGITS):
        means = {(number(value.estimate.mean, digits), value.wins) for value in values if value.estimate}
        if len({text for text, _ in means}) == len(means):
            return [replace(value, digits=digits) for value in values]
    return values


def scenario_table(cells: Sequence[Cell], metrics: list[Metric], winners: Winners) -> ScenarioTable:
    """Return the table of one scenario with these metrics."""
    columns = [in_readable_unit(metric, [values_of(cells, metric, winners)]) for metric in metrics]
    rows = [(cell, [values[0][i] for _, values in columns]) for i, cell in enumerate(cells)]
    return ScenarioTable([metric for metric, _ in columns], rows)


def group_table(
    rows: Sequence[GroupRow], cells: Sequence[Cell], winners: Winners
) -> tuple[list[Metric], list[GroupLine]]:
    """Return columns and rows of the table of several flows. cells: those of the scenario with runs."""
    columns = []
    for metric in shown_columns(rows):
        values, published = [], []
        for row in rows:
            wins = row.cell.scheme.name in winners.of(cells, row.group.metric(metric))
            values.append(Value(row.measured.get(metric.name), wins))
            published.append(row.figure(metric.name))
        shown, [values] = in_readable_unit(metric, [values])
        factor = 1.0 if shown is metric else 1 / US_PER_MS
        columns.append((shown, values, [None if figure is None else figure * factor for figure in published]))
    lines = [
        GroupLine(
            row.cell,
            row.group.title,
            [values[i] for _, values, _ in columns],
            [figures[i] for _, _, figures in columns] if row.published else [],
            row.published.name if row.published else "",
        )
        for i, row in enumerate(rows)
    ]
    return [metric for metric, _, _ in columns], lines


def headlines(cells: Sequence[Cell], winners: Winners) -> list[Headline]:
    """Return the main results: first of scenarios with one flow, then of scenarios with several."""
    parts = by_scenario(cells)
    headlines = []
    kinds = (
        ("One flow", metric_layout.HEADLINE, False),
        ("Several flows or requests", metric_layout.HEADLINE_SEVERAL, True),
    )
    for title, names, several in kinds:
        of_kind = {name: part for name, part in parts.items() if metric_layout.several(part) == several}
        metrics = metric_layout.chosen([cell for part in of_kind.values() for cell in part], names)
        if not metrics:
            continue
        tables = []
        for metric in metrics:
            rows = {name: values_of(part, metric, winners) for name, part in of_kind.items()}
            rows = {name: values for name, values in rows.items() if any(value.estimate for value in values)}
            shown, values = in_readable_unit(metric, list(rows.values()))
            tables.append(MetricTable(shown, list(zip(rows, values, strict=True))))
        per_scenario = [
            (name, scenario_table(part, metric_layout.chosen(part, names), winners)) for name, part in of_kind.items()
        ]
        headlines.append(Headline(title, tables, per_scenario))
    return headlines


def identical(cell: Cell) -> bool:
    """True if every seed gave the same result, because nothing on this path is random."""
    return len(cell.seeds) > 1 and all(len(set(map(repr, values))) <= 1 for values in cell.values.values())


def scenario_page(comparison: Comparison, name: str, cells: list[Cell], winners: Winners) -> ScenarioPage:
    """Return the page of one scenario."""
    measured = [cell for cell in cells if cell.seeds]
    published = [one for one in comparison.published if one.scenario == name]
    rows = group_rows(measured, published)
    group_metrics, lines = group_table(rows, measured, winners)
    everything = [
        in_readable_unit(metric, [values_of(cells, metric, winners)])
        for metric in metric_layout.metrics_of(cells).values()
    ]
    return ScenarioPage(
        name=name,
        scenario=cells[0].scenario,
        cells=cells,
        table=scenario_table(cells, metric_layout.chosen(cells, metric_layout.MAIN), winners),
        everything=[(metric, values) for metric, [values] in everything],
        group_rows=rows,
        group_metrics=group_metrics,
        group_lines=lines,
        sharing=scenario_table(cells, metric_layout.chosen(cells, metric_layout.SHARING) if rows else [], winners),
        published=[one for one in published if one.scheme in {cell.scheme.name for cell in measured}],
        sections=[section for section in comparison.sections if section.scenario == name],
        identical=[cell.scheme.label for cell in measured if identical(cell)],
    )


@dataclass(frozen=True)
class RateTable:
    """Winning rates of one kind: a row per scheme, the highest first. won_if: the condition to win a scenario."""

    kind: str
    won_if: str
    rows: list[tuple[Scheme, WinningRate]]


def rate_tables(cells: Sequence[Cell]) -> list[RateTable]:
    """Return the winning rates over all scenarios; none for kinds with fewer than FEW_SCENARIOS scenarios."""
    all_rates = winning_rates(cells)
    schemes = {scheme.name: scheme for scheme in schemes_of(cells)}
    tables = []
    of_kinds = (all_rates.single_flow, all_rates.friendliness, all_rates.closeness)
    for kind, rates in zip(WIN_CONDITIONS, of_kinds, strict=True):
        if max((len(rate.counted) for rate in rates), default=0) >= FEW_SCENARIOS:
            tables.append(RateTable(kind, WIN_CONDITIONS[kind], [(schemes[rate.scheme], rate) for rate in rates]))
    return tables


def title_of(comparison: Comparison) -> str:
    """Return the report's title: the names of up to three scenarios, else their number."""
    names = [scenario.name for scenario in comparison.experiment.scenarios]
    schemes = len(comparison.experiment.schemes)
    scenarios = ", ".join(names) if len(names) <= 3 else f"{len(names)} scenarios"
    return f"{counted(schemes, 'scheme')} in {scenarios}"
