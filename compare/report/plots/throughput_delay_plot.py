"""The throughput-delay plot. Its delay axis is inverted, so that up and to the right is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import f as f_distribution

from compare.metrics.cells import Cell
from compare.metrics.metric import Floats, Metric
from compare.report.plots.figure import DIGITS, INK, Figure, axis, is_wide, marker, numbers
from compare.statistics.estimates import CONFIDENCE, MIN_VALUES
from compare.statistics.numbers import listed, name_and_unit, number, readable

ELLIPSE_POINTS = 48
MARGIN = 0.3  # around the range of the seeds, as a fraction of that range


def confidence_ellipse(x: Floats, y: Floats) -> tuple[Floats, Floats] | None:
    """Return the outline of the region that holds the mean of (x, y) with CONFIDENCE, both of shape (ELLIPSE_POINTS,).

    x, y: shape (S,), one value per seed. Hotelling's T-squared (Hotelling 1931): the means m with
    S (m - mean)' C^-1 (m - mean) <= 2 (S - 1) / (S - 2) F(2, S - 2). None below MIN_VALUES seeds, or if all seeds
    are equal.
    """
    count = x.size
    if count < MIN_VALUES:
        return None
    covariance = np.cov(np.stack([x, y]))  # (2, 2)
    if not np.isfinite(covariance).all() or np.trace(covariance) <= 0:
        return None
    squared = 2 * (count - 1) / (count - 2) / count * float(f_distribution.ppf(CONFIDENCE, 2, count - 2))
    lengths, directions = np.linalg.eigh(covariance)  # (2,), (2, 2)
    angle = np.linspace(0, 2 * np.pi, ELLIPSE_POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)])  # (2, ELLIPSE_POINTS)
    outline = directions @ (np.sqrt(np.maximum(lengths, 0.0) * squared)[:, None] * circle)
    return x.mean() + outline[0], y.mean() + outline[1]


def axis_range(values: Sequence[float], log: bool) -> list[float]:
    """Return the ends of an axis that shows all seeds but may cut a wide outline.

    For a logarithmic axis the ends are logarithms, as plotly needs them.
    """
    scaled = np.log10(values) if log else np.asarray(values)
    low, high = float(scaled.min()), float(scaled.max())
    margin = MARGIN * (high - low) or 0.05 * abs(high) or 1.0
    return [float(f"{end:.{DIGITS}g}") for end in (low - margin, high + margin)]


def _within(outline: tuple[Floats, Floats], range_x: list[float], range_y: list[float]) -> bool:
    ends = zip(outline, (range_x, range_y), strict=True)
    return all(low <= values.min() and values.max() <= high for values, (low, high) in ends)


def throughput_delay_plot(cells: Sequence[Cell], throughput: Metric, delay: Metric) -> Figure:
    """Draw the mean of each scheme, the confidence ellipse of the mean, and the single seeds.

    On a logarithmic axis, mean and ellipse are those of the logarithms, so that the outline is an ellipse.
    """
    points = {}
    for cell in cells:
        x, y = np.asarray(cell.values[delay.name]), np.asarray(cell.values[throughput.name])
        known = np.isfinite(x) & np.isfinite(y)
        if known.any():
            points[cell.scheme.name] = (cell, x[known], y[known])
    delay, factor = readable(delay, (float(x.mean()) for _, x, _ in points.values()))
    points = {name: (cell, x * factor, y) for name, (cell, x, y) in points.items()}
    all_x = [float(value) for _, x, _ in points.values() for value in x]
    all_y = [float(value) for _, _, y in points.values() for value in y]
    log_x, log_y = is_wide(all_x), is_wide(all_y)
    range_x, range_y = axis_range(all_x, log_x), axis_range(all_y, log_y)
    outlines: list[dict[str, Any]] = []
    seeds: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    alternative = []
    for name, (cell, x, y) in points.items():
        scaled_x, scaled_y = (np.log10(x) if log_x else x), (np.log10(y) if log_y else y)
        outline = confidence_ellipse(scaled_x, scaled_y)
        if outline is not None:
            outlines.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": numbers(10 ** outline[0] if log_x else outline[0]),
                    "y": numbers(10 ** outline[1] if log_y else outline[1]),
                    # an outline larger than the picture is not filled, as it would only colour the background
                    "fill": "toself" if _within(outline, range_x, range_y) else "none",
                    "fillcolor": f"{cell.scheme.colour}22",
                    "line": {"color": cell.scheme.colour, "width": 1},
                    "hoverinfo": "skip",
                    "meta": name,
                }
            )
        points_of_seeds = {
            "type": "scatter",
            "mode": "markers",
            "x": numbers(x),
            "y": numbers(y),
            "hoverinfo": "skip",
            "meta": name,
        }
        seeds.append(points_of_seeds | {"marker": marker(cell.scheme, 5) | {"opacity": 0.45}})
        mean_x, mean_y = float(scaled_x.mean()), float(scaled_y.mean())
        mean_x, mean_y = (10**mean_x if log_x else mean_x), (10**mean_y if log_y else mean_y)
        alternative.append(f"{cell.scheme.label} {number(mean_y)} {throughput.unit} at {number(mean_x)} {delay.unit}")
        means.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [mean_x],
                "y": [mean_y],
                "marker": {"line": {"width": 1, "color": INK}} | marker(cell.scheme, 13),
                "text": [f"<b>{cell.scheme.label}</b><br>{alternative[-1].removeprefix(cell.scheme.label).strip()}"],
                "hoverinfo": "text",
                "meta": name,
            }
        )
    layout = {
        "height": 400,
        "hovermode": "closest",
        "xaxis": axis(
            f"{name_and_unit(delay)}  (less is to the right)",
            log_of=all_x if log_x else None,
            range=range_x[::-1],
        ),
        "yaxis": axis(name_and_unit(throughput), log_of=all_y if log_y else None, range=range_y),
    }
    return Figure(
        title=f"{throughput.title} against {delay.title[0].lower() if delay.title[1:2].islower() else delay.title[0]}"
        f"{delay.title[1:]}",
        caption=f"Up and to the right is better. Large: mean; outline: {100 * CONFIDENCE:.0f} % confidence ellipse of "
        "the mean; small: single seeds.",
        alternative=listed([f"{throughput.title} against {delay.title}, means", *alternative]),
        spec={"data": [*outlines, *seeds, *means], "layout": layout},
    )
