"""The distribution of RTT or latency over all samples of all seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compare.metrics.cells import Cell
from compare.metrics.distribution import Distribution
from compare.report.plots.figure import Figure, axis, is_wide, line_markers, numbers
from compare.statistics.numbers import US_PER_MS, listed, number

POINTS = 160  # of a curve
PERCENTILES = (50, 95, 99)  # of the alternative text
FROM_MS = 5  # from here on the axis is in ms, below in us


def percentile_us(distribution: Distribution, percent: float) -> float:
    """Return a percentile of all samples, us, within a bin's width."""
    edges_us, share = distribution.cumulative()
    return float(np.interp(percent / 100, share, edges_us))


def cumulative_figure(
    cells: Sequence[Cell], of: Callable[[Cell], Distribution], name: str, caption: str
) -> Figure | None:
    """Draw the share of samples up to each value, a line per scheme; None without samples. name: such as "RTT"."""
    sampled = [of(cell) for cell in cells if of(cell).total()]
    longest_us = max((percentile_us(distribution, 99) for distribution in sampled), default=0.0)
    unit, factor = ("ms", 1 / US_PER_MS) if longest_us >= FROM_MS * US_PER_MS else ("us", 1.0)
    data: list[dict[str, Any]] = []
    alternative = []
    drawn: list[float] = []
    for cell in cells:
        distribution = of(cell)
        edges_us, share = distribution.cumulative()
        if not edges_us.size:
            continue
        if edges_us.size > POINTS:  # evenly along the drawn line
            along = np.cumsum(np.hypot(np.gradient(np.log(edges_us)) / np.ptp(np.log(edges_us)), np.gradient(share)))
            drawn_at = np.searchsorted(along, np.linspace(along[0], along[-1], POINTS)).clip(0, share.size - 1)
            edges_us, share = edges_us[np.unique(drawn_at)], share[np.unique(drawn_at)]
        drawn += [percentile_us(distribution, 1) * factor, percentile_us(distribution, 100) * factor]
        percentiles = [f"{number(percentile_us(distribution, percent) * factor)}" for percent in PERCENTILES]
        alternative.append(f"{cell.scheme.label} {', '.join(percentiles)}")
        data.append(
            {
                "type": "scatter",
                **line_markers(cell.scheme),
                "x": numbers(edges_us * factor),
                "y": numbers(100 * share),
                "line": {"color": cell.scheme.colour, "width": 1.6},
                "hovertemplate": f"<b>{cell.scheme.label}</b> %{{y:.3~g}} % up to %{{x:.4~g}} {unit}<extra></extra>",
                "meta": cell.scheme.name,
            }
        )
    if not data:
        return None
    layout = {
        "height": 400,
        "hovermode": "closest",
        "xaxis": axis(f"{name}, {unit}", log_of=drawn if is_wide(drawn) else None),
        "yaxis": axis("samples up to it, %", range=[0, 101]),
    }
    percents = ", ".join(f"{percent} %" for percent in PERCENTILES)
    return Figure(
        title=f"Distribution of {name}",
        caption=caption,
        alternative=listed([f"{name} in {unit} that {percents} of the samples stay below", *alternative]),
        spec={"data": data, "layout": layout},
    )
