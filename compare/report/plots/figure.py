"""The parts that all figures of a report share. A figure is data for plotly; the page gives it its colours.

The ``meta`` of a trace is the name of its scheme, so that the page can hide schemes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.metrics.metric import Floats
from compare.report.plots.markers import MARKERS
from compare.statistics.numbers import number
from env.network.schemes import Scheme

LOG_FROM = 8.0  # an axis is logarithmic if its values differ by more than this factor
INK, SOFT, SURFACE = "ink", "soft", "surface"
DIGITS = 4  # significant digits of a drawn value: a thousandth of the axis is less than a pixel


@dataclass(frozen=True)
class Figure:
    """One figure of the report.

    alternative: the content as text, for readers that cannot see the figure. spec: plotly's ``data`` and ``layout``;
    INK, SOFT and SURFACE are colours of the page. kind: "timelines" has a table of the values at one instant.
    """

    title: str
    caption: str
    alternative: str
    spec: dict[str, Any]
    kind: str = "plain"


def numbers(values: Floats | Iterable[float]) -> list[float | None]:
    """Return values for JSON, rounded to DIGITS; None in place of NaN is a gap in a line."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]


def is_wide(values: Iterable[float]) -> bool:
    """True if values need a logarithmic axis: all are positive and differ by more than LOG_FROM."""
    known = [float(value) for value in values if np.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) / min(known) > LOG_FROM


def axis(
    title: str, *, log_of: Iterable[float] | None = None, from_zero: bool = False, **further: Any
) -> dict[str, Any]:
    """Return a plotly axis. log_of: the values of a logarithmic axis. from_zero: a linear axis begins at 0."""
    settings: dict[str, Any] = {"title": {"text": title}, **further}
    if log_of is not None:
        settings |= {"type": "log", "tickmode": "array"} | _log_ticks(log_of)
    elif from_zero:
        settings["rangemode"] = "tozero"
    return settings


def _log_ticks(values: Iterable[float]) -> dict[str, list[Any]]:
    """Return the ticks of a logarithmic axis with full labels: plotly would write 200 as 2."""
    known = [float(value) for value in values if np.isfinite(value) and value > 0]
    decades = range(int(np.floor(np.log10(min(known)))) - 1, int(np.ceil(np.log10(max(known)))) + 1)
    ratio = max(known) / min(known)
    steps = (1, 2, 3, 5, 7) if ratio < 12 else (1, 2, 5) if ratio < 500 else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return {"tickvals": numbers(ticks), "ticktext": [number(tick) for tick in ticks]}


def line_markers(scheme: Scheme) -> dict[str, Any]:
    """Return mode and marker of a line that is recognizable without its colour."""
    return {"mode": "lines+markers", "marker": marker(scheme, 7) | {"maxdisplayed": 7}}


def marker(scheme: Scheme, size: float = 10.0) -> dict[str, Any]:
    """Return the scheme's marker for plotly."""
    drawn = MARKERS[scheme.marker]
    line = {"line": {"width": 2, "color": scheme.colour}} if drawn.thin else {}
    return {"symbol": drawn.symbol, "color": scheme.colour, "size": size, **line}
