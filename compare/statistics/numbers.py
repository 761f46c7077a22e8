"""Numbers as text, the same on the terminal, in Markdown, in HTML and in CSV files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compare.metrics.metric import Metric
from compare.statistics.estimates import Estimate

US_PER_MS = 1e3
DIMENSIONLESS = ("count", "1", "")  # units that a text leaves out


def number(value: float, digits: int = 3) -> str:
    """Return a value with its significant digits; a whole number keeps all of them."""
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:,.{digits}g}"


def interval(estimate: Estimate, digits: int = 3) -> str:
    """Return "lo to hi", or "±" and half the width where both ends read alike; words without an interval."""
    if estimate.interval is None:
        return f"{counted(estimate.n, 'run')}: no interval"
    lo, hi = estimate.interval
    if lo == hi:
        return "no spread"
    ends = number(lo, digits), number(hi, digits)
    return f"±{number((hi - lo) / 2, 2)}" if ends[0] == ends[1] else " to ".join(ends)


def name_and_unit(metric: Metric) -> str:
    """Return a metric's title with its unit."""
    return metric.title if metric.unit in DIMENSIONLESS else f"{metric.title}, {metric.unit}"


def readable(metric: Metric, values: Iterable[float]) -> tuple[Metric, float]:
    """Return the metric in ms, and the factor from us to ms, if all values are at least 1 ms; else as it is, and 1."""
    known = [value for value in values if math.isfinite(value) and value > 0]
    if metric.unit != "us" or not known or min(known) < US_PER_MS:
        return metric, 1.0
    return replace(metric, unit="ms"), 1 / US_PER_MS


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """Return an estimate in another unit."""
    lo, hi = estimate.interval or (None, None)
    return Estimate(
        estimate.mean * factor,
        None if lo is None else lo * factor,
        None if hi is None else hi * factor,
        estimate.minimum * factor,
        estimate.maximum * factor,
        estimate.n,
    )


def counted(count: int, thing: str) -> str:
    """Return "1 run", "2 runs"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def listed(parts: Iterable[str]) -> str:
    """Return the parts as one sentence."""
    return "; ".join(parts) + "."


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return the text of a CSV file: floats with six significant digits, None and NaN as empty fields."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(value) for value in row] for row in rows)
    return text.getvalue()


def _field(value: str | float | None) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
