"""Which metrics stand in front: in the headline, in the main table, on the axes of throughput against delay."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence

from compare.metrics.metrics import Metric
from compare.metrics.summary import Cell
from compare.statistics.statistics import Estimate, estimate

# of one flow, of several: in the order in which they are shown, whichever were measured; * stands for any ending
HEADLINE = ("goodput", "queueing_p95", "rtt_p95", "retransmits_per_mb", "power")
HEADLINE_SEVERAL = ("rate", "jain", "share_*", "convergence", "queueing_p95", "p99_latency", "retrans_pct")
MAIN = (
    "goodput",
    "utilisation",
    "queueing_p95",
    "rtt_p95",
    "retransmits",
    "retransmits_per_mb",
    "zero_seconds",
    "power",
    "cwnd_mean",
)
SHARING = (
    "share_*",
    "fair_share_gap",
    "convergence",
    "convergence_after_end",
    "convergence_after_step",
    "converged",
    "stability",
    "utilisation",
    "queueing_p95",
    "queue_p95",
    "dropped",
    "marked",
)
# throughput, delay: the first pair of which both were measured
PLANES = (("goodput", "queueing_p95"), ("goodput", "rtt_p95"))
PLANES_SEVERAL = (("rate", "queueing_p95"), ("rate", "rtt"))
DOTS = ("goodput", "queueing_p95", "rtt_p95", "retransmits", "retransmits_per_mb", "zero_seconds", "power")
DOTS_SEVERAL = ("rate", "rtt", "jain", "retrans_pct", "cwnd")


def several(cells: Sequence[Cell]) -> bool:
    """True when the scenario of these cells has several flows, or latencies."""
    return any(cell.groups for cell in cells)


def metrics_of(cells: Sequence[Cell]) -> dict[str, Metric]:
    """Return every metric that has a value in one of the cells, by name, in the order of measurement."""
    found: dict[str, Metric] = {}
    for cell in cells:
        known = [metric for metric in cell.metrics if any(map(math.isfinite, cell.values[metric.name]))]
        found |= {metric.name: metric for metric in known if metric.name not in found}
    return found


def estimate_of(cell: Cell, name: str) -> Estimate | None:
    """Return the estimate of one metric, None where no run has a value."""
    values = cell.values.get(name, [])
    return estimate(values) if any(map(math.isfinite, values)) else None


def chosen(cells: Sequence[Cell], names: Sequence[str]) -> list[Metric]:
    """Return those of the named metrics that have a value in one of the cells, in the order of the names."""
    known = metrics_of(cells)
    return [known[found] for name in names for found in fnmatch.filter(known, name)]


def plane_of(cells: Sequence[Cell]) -> tuple[Metric, Metric] | None:
    """Return throughput and delay of the scenario of these cells, None when it has none."""
    known = metrics_of(cells)
    for throughput, delay in PLANES_SEVERAL if several(cells) else PLANES:
        if throughput in known and delay in known:
            return known[throughput], known[delay]
    return None
