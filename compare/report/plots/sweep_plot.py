"""The sweep plot: a metric over the values of a swept field, a line per scheme with its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.metrics.metric import Metric
from compare.report.plots.figure import Figure, axis, is_wide, marker, numbers
from compare.statistics.estimates import Estimate
from compare.statistics.numbers import interval, listed, name_and_unit, number, readable, scaled
from env.network.schemes import Scheme

HEIGHT_PX = 320
# endings of the fields of a network that have a unit
UNITS = {"_mbps": "Mbit/s", "_ms": "ms", "_us": "µs", "_bdp": "BDP", "_pct": "%", "_kb": "kB", "_bytes": "bytes"}


@dataclass(frozen=True)
class SweepLine:
    """A scheme's estimates at swept values, of the same number. values: numbers, or texts of other values."""

    scheme: Scheme
    values: Sequence[Any]
    estimates: Sequence[Estimate]


def sweep_plot(metric: Metric, field: str, lines: Sequence[SweepLine]) -> Figure:
    """Draw a metric over a field of the network. Numbers are sorted; other values have the lines' order."""
    metric, factor = readable(metric, (estimate.mean for line in lines for estimate in line.estimates))
    lines = [SweepLine(line.scheme, line.values, [scaled(e, factor) for e in line.estimates]) for line in lines]
    all_x = [value for line in lines for value in line.values]
    numeric = not any(isinstance(value, str) for value in all_x)
    data: list[dict[str, Any]] = []
    ends: list[float] = []
    alternative = []
    for line in lines:
        pairs = list(zip(line.values, line.estimates, strict=True))
        pairs = sorted(pairs, key=lambda pair: float(pair[0])) if numeric else pairs
        means = [estimate.mean for _, estimate in pairs]
        low, high = zip(*((estimate.interval or (estimate.mean, estimate.mean)) for _, estimate in pairs), strict=True)
        data.append(
            {
                "type": "scatter",
                "meta": line.scheme.name,
                "mode": "lines+markers",
                "x": numbers(value for value, _ in pairs) if numeric else [value for value, _ in pairs],
                "y": numbers(means),
                "line": {"color": line.scheme.colour, "width": 2},
                "marker": marker(line.scheme, 9),
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": numbers(hi - mean for hi, mean in zip(high, means, strict=True)),
                    "arrayminus": numbers(mean - lo for lo, mean in zip(low, means, strict=True)),
                    "color": line.scheme.colour,
                    "thickness": 1.5,
                    "width": 4,
                },
                "text": [
                    f"<b>{line.scheme.label}</b> {number(e.mean)}<br>{interval(e)}<br>{field} {value}"
                    for value, e in pairs
                ],
                "hoverinfo": "text",
            }
        )
        ends += [*means, *low, *high]
        points = ", ".join(f"{number(e.mean)} ({interval(e)}) at {value}" for value, e in pairs)
        alternative.append(f"{line.scheme.label} {points}")
    x_axis = axis(_with_unit(field), log_of=all_x if numeric and is_wide(all_x) else None)
    layout = {
        "height": HEIGHT_PX,
        "hovermode": "closest",
        "xaxis": x_axis if numeric else x_axis | {"type": "category"},
        "yaxis": axis(name_and_unit(metric), log_of=ends if is_wide(ends) else None, from_zero=True),
    }
    return Figure(
        title=f"{metric.title} over {field}",
        caption=f"{metric.meaning}. Bars: interval of the mean.",
        alternative=listed([f"{name_and_unit(metric)} over {field}", *alternative]),
        spec={"data": data, "layout": layout},
    )


def _with_unit(field: str) -> str:
    unit = next((unit for ending, unit in UNITS.items() if field.endswith(ending)), "")
    return f"{field}, {unit}" if unit else field
