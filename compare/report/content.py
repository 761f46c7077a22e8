"""What a report says, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compare.experiment.experiment import Experiment, Run
from compare.experiment.schemes import Scheme
from compare.metrics.metrics import Metric
from compare.metrics.series import flow_series
from compare.metrics.summary import Beside, Cell
from compare.report import metric_layout as chief
from compare.report.group_table import GroupRow, group_rows, shown_columns
from compare.report.plots.fairness import shares
from compare.report.plots.figure import Figure
from compare.report.plots.interval_plot import Dots, metric_dots
from compare.report.plots.spread import cumulative_figure
from compare.report.plots.throughput_delay_plot import throughput_against_delay
from compare.report.plots.timelines import flow_lines, flow_panels, queue_series, timelines
from compare.report.published_tables import PublishedRow
from compare.statistics.numbers import US_PER_MS, counted, readable, scaled
from compare.statistics.paired import PairedComparison
from compare.statistics.statistics import Estimate
from compare.statistics.winners import RATED, Marks
from compare.statistics.winning import WinningRate, winning_rates
from compare.targets.tables import TargetTable
from env.network.scenario import Scenario

LATENCIES = ("mean_latency", "p99_latency")
FEW_SCENARIOS = 2  # of up to so many the headline has a row per scheme; of more a row per scenario

# metric to the published figure that is drawn beside it
PUBLISHED_FIGURES = {"goodput": "goodput, receiver side", "retransmits": "retransmits", "zero_seconds": "zero seconds"}


@dataclass(frozen=True)
class Comparison:
    """All that a report shows. environment: the content of environment.json, empty when it is not there yet.

    comparisons: of every pair of schemes. beside: published single runs with ours; tables: rows of published tables,
    whose scenarios may be others. run_name: a run's folder, as seen from the report. target: what the runs were made
    for, judged.
    """

    experiment: Experiment
    cells: list[Cell]
    comparisons: list[PairedComparison]
    beside: list[Beside]
    tables: list[PublishedRow]
    environment: dict[str, Any]
    run_name: Callable[[Run], str]
    target: TargetTable | None = None


@dataclass(frozen=True)
class Value:
    """One value of a table. wins: is among the winners of those that it stands beside."""

    found: Estimate | None
    wins: bool = False


@dataclass(frozen=True)
class MetricTable:
    """One metric: a row per scenario, a value per scheme."""

    metric: Metric
    rows: list[tuple[str, list[Value]]]


@dataclass(frozen=True)
class ScenarioTable:
    """One scenario: a row per scheme, a value per metric."""

    metrics: list[Metric]
    rows: list[tuple[Cell, list[Value]]]


@dataclass(frozen=True)
class GroupLine:
    """A row of the table of several flows: a scheme's values for one group, and what was published of it."""

    cell: Cell
    flows: str
    values: list[Value]
    published: list[float | None]
    experiment: str


@dataclass(frozen=True)
class Headline:
    """The chief results of scenarios of one kind."""

    title: str
    tables: list[MetricTable]
    scenarios: list[tuple[str, ScenarioTable]]


@dataclass(frozen=True)
class ScenarioPage:
    """All about one scenario. table: of one flow; group_metrics, group_lines: of several, in its place.

    sharing: how several flows share the network.
    """

    name: str
    scenario: Scenario
    cells: list[Cell]
    table: ScenarioTable
    everything: list[tuple[Metric, list[Value]]]
    group_metrics: list[Metric]
    group_lines: list[GroupLine]
    sharing: ScenarioTable
    published_tables: list[tuple[int, str]]
    beside: list[Beside]
    identical: list[str]
    figures: list[Figure] = field(default_factory=list)
    wide_figures: list[Figure] = field(default_factory=list)
    flow_figures: list[Figure] = field(default_factory=list)
    dot_figures: list[Figure] = field(default_factory=list)

    @property
    def measured(self) -> list[Cell]:
        """The schemes of which there is a run."""
        return [cell for cell in self.cells if cell.seeds]


def values_of(cells: Sequence[Cell], metric: Metric, marks: Marks) -> list[Value]:
    """Return a metric's values, one per cell of a scenario, the winners marked."""
    winners = marks.winners(cells, metric)
    return [Value(chief.estimate_of(cell, metric.name), cell.scheme.name in winners) for cell in cells]


def read_as(metric: Metric, rows: Sequence[list[Value]]) -> tuple[Metric, list[list[Value]]]:
    """Return the metric and its values in the unit in which they are read."""
    means = (value.found.mean for values in rows for value in values if value.found)
    shown, factor = readable(metric, means)
    if factor == 1:
        return metric, list(rows)
    return shown, [
        [replace(value, found=scaled(value.found, factor)) if value.found else value for value in values]
        for values in rows
    ]


def scenario_table(cells: Sequence[Cell], metrics: list[Metric], marks: Marks) -> ScenarioTable:
    """Return the table of one scenario with these metrics."""
    columns = [read_as(metric, [values_of(cells, metric, marks)]) for metric in metrics]
    rows = [(cell, [values[0][i] for _, values in columns]) for i, cell in enumerate(cells)]
    return ScenarioTable([metric for metric, _ in columns], rows)


def group_table(rows: Sequence[GroupRow], cells: Sequence[Cell], marks: Marks) -> tuple[list[Metric], list[GroupLine]]:
    """Return columns and rows of the table of several flows. cells: of the scenario, those with runs."""
    columns = []
    for metric in shown_columns(rows):
        values, published = [], []
        for row in rows:
            wins = row.cell.scheme.name in marks.winners(cells, row.group.metric(metric))
            values.append(Value(row.measured.get(metric.name), wins))
            published.append(row.figure(metric.name))
        shown, [values] = read_as(metric, [values])
        factor = 1.0 if shown is metric else 1 / US_PER_MS
        columns.append((shown, values, [None if figure is None else figure * factor for figure in published]))
    lines = [
        GroupLine(
            row.cell,
            row.group.title,
            [values[i] for _, values, _ in columns],
            [figures[i] for _, _, figures in columns] if row.published else [],
            row.published.experiment if row.published else "",
        )
        for i, row in enumerate(rows)
    ]
    return [metric for metric, _, _ in columns], lines


def by_scenario(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each scenario, in order."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.scenario.name, []).append(cell)
    return found


def headlines(cells: Sequence[Cell], marks: Marks) -> list[Headline]:
    """Return the chief results: of scenarios with one flow, then of those with several."""
    parts = by_scenario(cells)
    found = []
    kinds = (("One flow", chief.HEADLINE, False), ("Several flows or requests", chief.HEADLINE_SEVERAL, True))
    for title, names, several in kinds:
        mine = {name: part for name, part in parts.items() if chief.several(part) == several}
        metrics = chief.chosen([cell for part in mine.values() for cell in part], names)
        if not metrics:
            continue
        tables = []
        for metric in metrics:
            rows = {name: values_of(part, metric, marks) for name, part in mine.items()}
            rows = {name: values for name, values in rows.items() if any(value.found for value in values)}
            shown, values = read_as(metric, list(rows.values()))
            tables.append(MetricTable(shown, list(zip(rows, values, strict=True))))
        per_scenario = [(name, scenario_table(part, chief.chosen(part, names), marks)) for name, part in mine.items()]
        found.append(Headline(title, tables, per_scenario))
    return found


def identical(cell: Cell) -> bool:
    """True when every seed gave the same run: nothing on this path is random."""
    return len(cell.seeds) > 1 and all(len(set(map(repr, values))) <= 1 for values in cell.values.values())


def scenario_page(
    comparison: Comparison, name: str, cells: list[Cell], marks: Marks, *, drawn: bool = True
) -> ScenarioPage:
    """Return the page of one scenario. drawn: with figures, for which one run of each scheme is read."""
    measured = [cell for cell in cells if cell.seeds]
    rows = group_rows(measured, comparison.tables)
    group_metrics, lines = group_table(rows, measured, marks)
    everything = [read_as(metric, [values_of(cells, metric, marks)]) for metric in chief.metrics_of(cells).values()]
    page = ScenarioPage(
        name=name,
        scenario=cells[0].scenario,
        cells=cells,
        table=scenario_table(cells, chief.chosen(cells, chief.MAIN), marks),
        everything=[(metric, values) for metric, [values] in everything],
        group_metrics=group_metrics,
        group_lines=lines,
        sharing=scenario_table(cells, chief.chosen(cells, chief.SHARING) if rows else [], marks),
        published_tables=sorted({(row.published.table, row.published.title) for row in rows if row.published}),
        beside=[row for row in comparison.beside if row.scenario == name],
        identical=[cell.scheme.label for cell in measured if identical(cell)],
    )
    if drawn and measured:
        _draw(page, measured, rows)
    return page


def _draw(page: ScenarioPage, measured: list[Cell], rows: list[GroupRow]) -> None:
    axes = chief.plane_of(measured)
    if axes is not None:
        page.figures.append(throughput_against_delay(measured, *axes))
    spread = cumulative_figure(
        measured,
        lambda cell: cell.rtt,
        "RTT",
        "Share of all samples of the smoothed RTT, of all seeds, up to each value.",
    )
    latency = cumulative_figure(
        measured,
        lambda cell: cell.latency,
        "latency",
        "Share of all requests or writes, of all seeds, up to each value.",
    )
    page.figures.extend(figure for figure in (spread, latency) if figure)
    flows, queues = {}, {}
    for cell in measured:
        result = cell.result(cell.seeds[0])
        flows[cell.scheme.name] = [flow_series(flow) for flow in result["flows"]]
        if "queue" in result and result["queue"]["rows"].size:
            queues[cell.scheme.name] = queue_series(result["queue"])
    if len(measured[0].under_test) > 1:
        jain = {cell.scheme.name: found for cell in measured if (found := chief.estimate_of(cell, "jain"))}
        page.figures.append(shares(measured, jain))
        panels = flow_panels(list(flows.values()), list(queues.values()), minimum=page.scenario.rack is not None)
        for cell in measured:
            page.flow_figures.append(flow_lines(cell, flows[cell.scheme.name], queues.get(cell.scheme.name), panels))
    else:
        first = {name: found[0] for name, found in flows.items()}
        page.wide_figures.append(timelines(measured, first, queues))
    page.dot_figures.extend(_group_dots(rows) if rows else _dots(page, measured))


def _dots(page: ScenarioPage, measured: list[Cell]) -> list[Figure]:
    """Return a figure for each metric of DOTS that is not nothing everywhere."""
    figures = []
    for metric in chief.chosen(measured, chief.DOTS):
        rows = []
        for cell in measured:
            found = chief.estimate_of(cell, metric.name)
            runs = [
                b.published
                for b in page.beside
                if (b.scheme, b.figure) == (cell.scheme.name, PUBLISHED_FIGURES.get(metric.name))
            ]
            if found is not None:
                rows.append(Dots(cell.scheme, found, cell.values[metric.name], runs))
        if any(row.found.maximum > 0 for row in rows):
            figures.append(metric_dots(metric, rows))
    return figures


def _group_dots(rows: list[GroupRow]) -> list[Figure]:
    """Return a figure for each metric of all flows together, and the latencies of each group of flows."""
    figures = []
    groups = list(dict.fromkeys(row.group.label for row in rows))
    for label in groups:
        mine = [row for row in rows if row.group.label == label]
        for metric in shown_columns(rows):
            if label and metric.name not in LATENCIES:
                continue
            if metric.name not in (*chief.DOTS_SEVERAL, *LATENCIES):
                continue
            dots = [_group_row(row, metric) for row in mine if metric.name in row.measured]
            if any(row.found.maximum > 0 for row in dots):
                title = metric.title if not label else f"{metric.title}: {mine[0].group.title}"
                figures.append(metric_dots(metric, dots, title))
    return figures


def _group_row(row: GroupRow, metric: Metric) -> Dots:
    published = row.figure(metric.name)
    seeds = row.cell.values[row.group.metric(metric).name]
    return Dots(row.cell.scheme, row.measured[metric.name], seeds, [] if published is None else [published])


@dataclass(frozen=True)
class RateTable:
    """Winning rates of one kind: a row per scheme, the highest first. won_if: what it takes to win a scenario."""

    kind: str
    won_if: str
    rows: list[tuple[Scheme, WinningRate]]


def rate_tables(cells: Sequence[Cell]) -> list[RateTable]:
    """Return the winning rates over all scenarios; none where there is only one to win."""
    found = winning_rates(cells)
    schemes = {scheme.name: scheme for scheme in schemes_of(cells)}
    tables = []
    for kind, rates in (("single flow", found.single_flow), ("friendliness", found.friendliness)):
        if max((len(rate.counted) for rate in rates), default=0) >= FEW_SCENARIOS:
            tables.append(RateTable(kind, RATED[kind], [(schemes[rate.scheme], rate) for rate in rates]))
    return tables


def schemes_of(cells: Sequence[Cell]) -> list[Scheme]:
    """Return the schemes, each once, in order."""
    return list({cell.scheme.name: cell.scheme for cell in cells}.values())


def title_of(comparison: Comparison) -> str:
    """Return what the report is called: its scenarios where they are few, else how many."""
    names = [scenario.name for scenario in comparison.experiment.scenarios]
    schemes = len(comparison.experiment.schemes)
    scenarios = ", ".join(names) if len(names) <= 3 else f"{len(names)} scenarios"
    return f"{counted(schemes, 'scheme')} in {scenarios}"
