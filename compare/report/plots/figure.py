"""What the report's figures have in common. A figure is data for plotly; its colours come from the page.

Every trace carries the name of its scheme as ``meta``, so that the page can hide schemes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.metrics.metrics import Floats
from compare.report.plots.markers import SYMBOLS, THIN
from compare.statistics.numbers import number
from env.network.schemes import Scheme

LOG_FROM = 8.0  # an axis is logarithmic when its values differ by more than this factor
INK, SOFT, SURFACE = "ink", "soft", "surface"
DIGITS = 4  # significant digits of a drawn value: a thousandth of the axis is less than a pixel


@dataclass(frozen=True)
class Figure:
    """One figure of the report.

    alternative: what it shows, in words and numbers, for those who do not see it. spec: plotly's ``data`` and
    ``layout``; colours INK, SOFT and SURFACE stand for those of the page. kind: what the page does with it besides
    drawing: "timelines" reads the values out at one instant.
    """

    title: str
    caption: str
    alternative: str
    spec: dict[str, Any]
    kind: str = "plain"


def numbers(values: Floats | Iterable[float]) -> list[float | None]:
    """Return values for JSON, rounded to DIGITS; None stands for NaN, a gap in a line."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]


def is_wide(values: Iterable[float]) -> bool:
    """True when values are to stand on a logarithmic axis: all positive, and far apart."""
    known = [float(value) for value in values if np.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) / min(known) > LOG_FROM


def axis(
    title: str, *, log_of: Iterable[float] | None = None, from_zero: bool = False, **others: Any
) -> dict[str, Any]:
    """Return a plotly axis. log_of: the values on it, when it is to be logarithmic; from_zero: when it is not."""
    found: dict[str, Any] = {"title": {"text": title}, **others}
    if log_of is not None:
        found |= {"type": "log", "tickmode": "array"} | _log_ticks(log_of)
    elif from_zero:
        found["rangemode"] = "tozero"
    return found


def _log_ticks(values: Iterable[float]) -> dict[str, list[Any]]:
    """Return the ticks of a logarithmic axis, written out: plotly writes 200 as 2."""
    known = [float(value) for value in values if np.isfinite(value) and value > 0]
    decades = range(int(np.floor(np.log10(min(known)))) - 1, int(np.ceil(np.log10(max(known)))) + 1)
    ratio = max(known) / min(known)
    steps = (1, 2, 3, 5, 7) if ratio < 12 else (1, 2, 5) if ratio < 500 else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return {"tickvals": numbers(ticks), "ticktext": [number(tick) for tick in ticks]}


def line_markers(scheme: Scheme) -> dict[str, Any]:
    """Return mode and marker of a line that is told by more than its colour."""
    return {"mode": "lines+markers", "marker": marker(scheme, 7) | {"maxdisplayed": 7}}


def marker(scheme: Scheme, size: float = 10.0) -> dict[str, Any]:
    """Return the scheme's marker for plotly."""
    line = {"line": {"width": 2, "color": scheme.colour}} if scheme.marker in THIN else {}
    return {"symbol": SYMBOLS[scheme.marker], "color": scheme.colour, "size": size, **line}
