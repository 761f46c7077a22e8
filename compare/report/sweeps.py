"""The sweeps of a comparison: every metric over a swept value, a line per scheme."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from compare.experiment.changes import SweepPoint
from compare.metrics.cells import Cell, by_scenario, schemes_of
from compare.metrics.metric import Metric
from compare.report import metric_layout
from compare.report.plots.figure import Figure
from compare.report.plots.sweep_plot import SweepLine, sweep_plot
from compare.statistics.estimates import estimate_of

METRICS = ("goodput", "utilisation", "queueing_p95", "rtt_p95", "retransmits_per_mb")
METRICS_SEVERAL = ("rate", "jain", "share_*", "queueing_p95", "rtt", "retrans_pct", "p99_latency")


@dataclass(frozen=True)
class SweepFigures:
    """The figures of one sweep. title: the scenario, with the values of the other swept fields."""

    title: str
    figures: list[Figure]


def sweep_figures(points: Sequence[SweepPoint], cells: Sequence[Cell]) -> list[SweepFigures]:
    """Return the figures of each base scenario, over the first swept field; one set for each value of the others."""
    if not points:
        return []
    across = next(iter(points[0].values))  # on the horizontal axis
    measured = {name: part for name, of in by_scenario(cells).items() if (part := [cell for cell in of if cell.seeds])}
    grouped: dict[str, list[SweepPoint]] = {}
    for point in points:
        others = [f"{_field(key)} {_text(value)}" for key, value in point.values.items() if key != across]
        grouped.setdefault(", ".join([point.base, *others]), []).append(point)
    sweeps = []
    for title, of_group in grouped.items():
        parts = [(point.values[across], measured[point.scenario]) for point in of_group if point.scenario in measured]
        if figures := _figures(_field(across), parts):
            sweeps.append(SweepFigures(title, figures))
    return sweeps


def _figures(field: str, parts: Sequence[tuple[object, list[Cell]]]) -> list[Figure]:
    """Return a figure for each metric. parts: swept value and the cells of its scenario."""
    all_cells = list(itertools.chain.from_iterable(cells for _, cells in parts))
    names = METRICS_SEVERAL if metric_layout.several(all_cells) else METRICS
    figures = []
    for metric in metric_layout.chosen(all_cells, names):
        lines = [line for scheme in schemes_of(all_cells) if (line := _line(metric, scheme.name, parts))]
        if lines:
            figures.append(sweep_plot(metric, field, lines))
    return figures


def _line(metric: Metric, scheme: str, parts: Sequence[tuple[object, list[Cell]]]) -> SweepLine | None:
    """Return the line of a scheme; None without a value."""
    values, estimates, drawn = [], [], None
    for value, cells in parts:
        for cell in cells:
            if cell.scheme.name == scheme and (measured := estimate_of(cell, metric.name)) is not None:
                values.append(value if _is_number(value) else _text(value))
                estimates.append(measured)
                drawn = cell.scheme
    return None if drawn is None else SweepLine(drawn, values, estimates)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _field(key: str) -> str:
    return key.partition(".")[2]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
