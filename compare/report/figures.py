"""The figures of a scenario's page in the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compare.metrics.cells import Cell
from compare.metrics.metric import Metric
from compare.metrics.series import flow_series
from compare.report import metric_layout
from compare.report.content import ScenarioPage
from compare.report.groups import GroupRow, shown_columns
from compare.report.plots.fairness import goodput_shares
from compare.report.plots.figure import Figure
from compare.report.plots.interval_plot import IntervalRow, interval_plot
from compare.report.plots.spread import cumulative_figure
from compare.report.plots.throughput_delay_plot import throughput_delay_plot
from compare.report.plots.timelines import flow_lines, panels_of, queue_series, timelines
from compare.statistics.estimates import estimate_of

LATENCIES = ("mean_latency", "p99_latency")


@dataclass(frozen=True)
class ScenarioFigures:
    """The figures of a scenario's page, in order. wide: as wide as the page. flows: one for each scheme."""

    plain: list[Figure] = field(default_factory=list)
    wide: list[Figure] = field(default_factory=list)
    flows: list[Figure] = field(default_factory=list)
    intervals: list[Figure] = field(default_factory=list)

    def in_order(self) -> list[Figure]:
        """Return all figures in the order of the template's indices."""
        return [*self.plain, *self.wide, *self.flows, *self.intervals]


def scenario_figures(page: ScenarioPage) -> ScenarioFigures:
    """Return the figures of a scenario; none without a run. Reads one run of each scheme."""
    figures, measured = ScenarioFigures(), page.measured
    if not measured:
        return figures
    axes = metric_layout.throughput_delay_axes(measured)
    if axes is not None:
        figures.plain.append(throughput_delay_plot(measured, *axes))
    figures.plain.extend(_distributions(measured))
    flows, queues = {}, {}
    for cell in measured:
        result = cell.result(cell.seeds[0])
        flows[cell.scheme.name] = [flow_series(flow) for flow in result.flows]
        if len(result.queue):
            queues[cell.scheme.name] = queue_series(result.queue)
    if len(measured[0].under_test) > 1:
        estimates = {cell.scheme.name: estimate_of(cell, "jain") for cell in measured}
        figures.plain.append(goodput_shares(measured, {name: jain for name, jain in estimates.items() if jain}))
        lines = (line for of_scheme in flows.values() for line in of_scheme)
        panels = panels_of(lines, list(queues.values()), minimum=page.scenario.rack is not None)
        for cell in measured:
            figures.flows.append(flow_lines(cell, flows[cell.scheme.name], queues.get(cell.scheme.name), panels))
    else:
        first = {scheme: series[0] for scheme, series in flows.items()}
        figures.wide.append(timelines(measured, first, queues))
    figures.intervals.extend(_group_interval_plots(page.group_rows) if page.group_rows else _interval_plots(page))
    return figures


def _distributions(cells: Sequence[Cell]) -> list[Figure]:
    """Return the distributions of RTT and latency that have a sample."""
    rtt = cumulative_figure(
        cells, lambda cell: cell.rtt, "RTT", "Share of all samples of the smoothed RTT, of all seeds, up to each value."
    )
    latency = cumulative_figure(
        cells,
        lambda cell: cell.latency,
        "latency",
        "Share of all requests or writes, of all seeds, up to each value.",
    )
    return [figure for figure in (rtt, latency) if figure]


def _interval_plots(page: ScenarioPage) -> list[Figure]:
    """Return a figure for each metric of INTERVAL_PLOTS that is above 0 in a run."""
    figures = []
    for metric in metric_layout.chosen(page.measured, metric_layout.INTERVAL_PLOTS):
        rows = []
        for cell in page.measured:
            estimate = estimate_of(cell, metric.name)
            published = [
                one.values[metric.name]
                for one in page.published
                if one.scheme == cell.scheme.name and metric.name in one.values
            ]
            if estimate is not None:
                rows.append(IntervalRow(cell.scheme, estimate, cell.values[metric.name], published))
        if any(row.estimate.maximum > 0 for row in rows):
            figures.append(interval_plot(metric, rows))
    return figures


def _group_interval_plots(rows: Sequence[GroupRow]) -> list[Figure]:
    """Return a figure for each metric of all flows together, and for the latencies of each group of flows."""
    figures = []
    groups = {row.group.label: row.group.title for row in rows}
    for label, title in groups.items():
        names = LATENCIES if label else (*metric_layout.INTERVAL_PLOTS_SEVERAL, *LATENCIES)
        for metric in shown_columns(rows):
            if metric.name not in names:
                continue
            of_group = [row for row in rows if row.group.label == label and metric.name in row.measured]
            intervals = [_group_row(row, metric) for row in of_group]
            if any(row.estimate.maximum > 0 for row in intervals):
                heading = f"{metric.title}: {title}" if label else metric.title
                figures.append(interval_plot(metric, intervals, heading))
    return figures


def _group_row(row: GroupRow, metric: Metric) -> IntervalRow:
    published = row.figure(metric.name)
    seeds = row.cell.values[row.group.metric(metric).name]
    return IntervalRow(row.cell.scheme, row.measured[metric.name], seeds, [] if published is None else [published])
