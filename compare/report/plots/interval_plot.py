"""The interval plot: mean, interval, single seeds and published values of one metric, a row per scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.metrics.metric import Metric
from compare.report.plots.figure import INK, Figure, axis, is_wide, marker, numbers
from compare.statistics.estimates import Estimate
from compare.statistics.numbers import interval, listed, name_and_unit, number, readable, scaled
from env.network.schemes import Scheme

ROW_PX = 26


@dataclass(frozen=True)
class IntervalRow:
    """One row: a scheme's estimate, its single seeds, and published values."""

    scheme: Scheme
    estimate: Estimate
    seeds: Sequence[float]
    published: Sequence[float] = ()


def interval_plot(metric: Metric, rows: Sequence[IntervalRow], title: str = "") -> Figure:
    """Draw a metric, a row per scheme. title: in place of the metric's title."""
    metric, factor = readable(metric, (row.estimate.mean for row in rows))
    rows = [_in_unit(row, factor) for row in rows]
    data: list[dict[str, Any]] = []
    all_values: list[float] = []
    alternative = []
    for row in rows:
        y = row.scheme.label
        base = {"type": "scatter", "meta": row.scheme.name, "hoverinfo": "skip"}
        lo, hi = row.estimate.interval or (row.estimate.mean, row.estimate.mean)
        data += [
            base | {"mode": "markers", "x": numbers(row.seeds), "y": [y] * len(row.seeds),
                    "marker": {"symbol": "line-ns-open", "size": 9, "color": row.scheme.colour, "opacity": 0.55}},
            base | {"mode": "lines", "x": numbers([lo, hi]), "y": [y, y],
                    "line": {"color": row.scheme.colour, "width": 4}, "opacity": 0.5},
            base | {"mode": "markers", "x": numbers([row.estimate.mean]), "y": [y], "marker": marker(row.scheme, 11),
                    "text": [f"<b>{y}</b> {number(row.estimate.mean)}<br>{interval(row.estimate)}"],
                    "hoverinfo": "text"},
        ]  # fmt: skip
        if row.published:
            data.append(
                base | {"mode": "markers", "x": numbers(row.published), "y": [y] * len(row.published),
                        "marker": {"symbol": "diamond-open", "size": 9, "color": INK, "line": {"width": 1.5}},
                        "text": [f"published {number(value)}" for value in row.published], "hoverinfo": "text"}
            )  # fmt: skip
        all_values += [row.estimate.mean, lo, hi, *row.seeds, *row.published]
        alternative.append(f"{y} {number(row.estimate.mean)} ({interval(row.estimate)})")
    log_of = all_values if is_wide(all_values) else None
    layout = {
        "height": 64 + ROW_PX * len(rows),
        "hovermode": "closest",
        "xaxis": axis(name_and_unit(metric), log_of=log_of, from_zero=True, nticks=5),
        "yaxis": {
            "type": "category",
            "categoryarray": [row.scheme.label for row in rows],
            "autorange": "reversed",
            "showgrid": False,
            "automargin": True,
        },
    }
    return Figure(
        title=title or metric.title,
        caption=metric.meaning,
        alternative=listed([f"{title or name_and_unit(metric)}, mean and interval", *alternative]),
        spec={"data": data, "layout": layout},
    )


def _in_unit(row: IntervalRow, factor: float) -> IntervalRow:
    seeds = [value * factor for value in row.seeds]
    return IntervalRow(row.scheme, scaled(row.estimate, factor), seeds, [value * factor for value in row.published])
