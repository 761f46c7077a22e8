"""The metric layout: the metrics of each table and figure of a report, in order."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence

from compare.metrics.cells import Cell
from compare.metrics.metric import Metric

# Metrics that were not measured are skipped; * stands for any ending. SEVERAL: for several flows.
HEADLINE = ("goodput", "queueing_p95", "rtt_p95", "retransmits_per_mb", "power")
HEADLINE_SEVERAL = (
    "rate",
    "jain",
    "jain_max_min",
    "share_*",
    "convergence",
    "queueing_p95",
    "p99_latency",
    "retrans_pct",
)
MAIN = (
    "goodput",
    "utilisation",
    "utilisation_link*",
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
    "max_min_share_*",
    "jain_max_min",
    "utilisation",
    "utilisation_link*",
    "queueing_p95",
    "queue_p95",
    "queue_p95_link*",
    "dropped",
    "dropped_link*",
    "marked",
)
# rate, delay and losses: on the terminal always, and before the others
FIRST = (
    "goodput",
    "queueing_p95",
    "rtt_p95",
    "retransmits_per_mb",
    "rate",
    "rtt",
    "retrans_pct",
    "p99_latency",
    "jain",
)
# axes of the throughput-delay plot: the first pair with both metrics measured
THROUGHPUT_DELAY = (("goodput", "queueing_p95"), ("goodput", "rtt_p95"))
THROUGHPUT_DELAY_SEVERAL = (("rate", "queueing_p95"), ("rate", "rtt"))
INTERVAL_PLOTS = ("goodput", "queueing_p95", "rtt_p95", "retransmits", "retransmits_per_mb", "zero_seconds", "power")
INTERVAL_PLOTS_SEVERAL = ("rate", "rtt", "jain", "retrans_pct", "cwnd")


def several(cells: Sequence[Cell]) -> bool:
    """True if the scenario of these cells has several flows, or latencies."""
    return any(cell.groups for cell in cells)


def metrics_of(cells: Sequence[Cell]) -> dict[str, Metric]:
    """Return every metric that has a value in one of the cells, by name, in the order of measurement."""
    metrics: dict[str, Metric] = {}
    for cell in cells:
        for metric in cell.metrics:
            if any(map(math.isfinite, cell.values[metric.name])):
                metrics.setdefault(metric.name, metric)
    return metrics


def chosen(cells: Sequence[Cell], names: Sequence[str]) -> list[Metric]:
    """Return those of the named metrics that have a value in one of the cells, in the order of the names."""
    known = metrics_of(cells)
    return [known[match] for name in names for match in fnmatch.filter(known, name)]


def throughput_delay_axes(cells: Sequence[Cell]) -> tuple[Metric, Metric] | None:
    """Return the metrics of throughput and delay that a scenario's cells have; None without such a pair."""
    known = metrics_of(cells)
    for throughput, delay in THROUGHPUT_DELAY_SEVERAL if several(cells) else THROUGHPUT_DELAY:
        if throughput in known and delay in known:
            return known[throughput], known[delay]
    return None
