"""Metrics of a run's network, its utilisation, queues and losses: pure functions.

Two metrics describe queues. `queueing` is the RTT of the flows under test above the RTT of the empty path. It contains
all queues in both directions (with fair queueing only the flow's queue), jitter, and the smoothing of Linux's RTT.
`queue` is the backlog at the bottleneck in samples, given as the time that the link needs to send it. It is exact and
contains all flows. Loopback paths have no `queue`: there, packets that netem delays look like a backlog.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from compare.metrics.metric import BITS_PER_MBIT, Floats, Metric
from env.errors import UserError
from env.lab import FlowResult, RunResult
from env.network.capacity import base_rtt_ms, link_capacity, network_capacity
from env.network.path import Path
from env.network.rack import Rack

UTILISATION = Metric(
    "utilisation", "%", "Utilisation", 1, "goodput of all flows over the payload that the network could have carried"
)
QUEUEING = (
    Metric("queueing_mean", "ms", "Mean queueing delay", -1, "mean RTT of the flows under test above the empty path's"),
    Metric("queueing_p50", "ms", "Median queueing delay", -1, "median of RTT above the empty path's"),
    Metric("queueing_p95", "ms", "p95 queueing delay", -1, "95th percentile of RTT above the empty path's"),
    Metric("queueing_p99", "ms", "p99 queueing delay", -1, "99th percentile of RTT above the empty path's"),
)
QUEUE = (
    Metric("queue_mean", "ms", "Mean queue", -1, "mean time that the link takes to send the bottleneck's backlog"),
    Metric("queue_p95", "ms", "p95 queue", -1, "95th percentile of the time to send the bottleneck's backlog"),
)
DROPPED = Metric("dropped", "packets", "Dropped", -1, "packets dropped by the bottleneck's queue")
MARKED = Metric("marked", "packets", "Marked", 0, "packets marked by the bottleneck's queue (ECN)")
POLICED = Metric("policed", "packets", "Policed", -1, "packets dropped by the policer")
LOST = Metric("lost", "packets", "Lost", 0, "packets lost by the link (netem)")
PERCENTILES = (50, 95, 99)


def network_metrics(
    result: RunResult, network: Path | Rack, duration_s: float, under_test: Sequence[bool]
) -> dict[Metric, float]:
    """Return the metrics that apply to a run's network; NaN for a metric without data.

    Raises UserError if all flows lack a duration.
    """
    flows = result.flows
    metrics = {UTILISATION: 100 * utilisation(flows, network, duration_s)}
    if isinstance(network, Path):
        delays = queueing_ms(list(itertools.compress(flows, under_test)), network)
        metrics |= zip(QUEUEING, summary(delays), strict=True)
    if isinstance(network, Rack) or network.topology == "router":
        waits = queue_ms(result, network, duration_s)
        mean, _, p95, _ = summary(waits)
        metrics |= zip(QUEUE, [mean, p95], strict=True)
        metrics |= {DROPPED: _count(result, "dropped")}
    if isinstance(network, Path):
        if network.ecn:
            metrics[MARKED] = _count(result, "marked")
        if network.police_mbps:
            metrics[POLICED] = _count(result, "policed")
        if network.topology == "loopback" or network.loss_pct or any(step.loss_pct for step in network.steps):
            metrics[LOST] = _count(result, "lost")
    return metrics


def utilisation(flows: Sequence[FlowResult], network: Path | Rack, duration_s: float) -> float:
    """Return the goodput of all flows over the network's capacity, from the first flow's start to the last flow's end.

    NaN if the capacity is 0.
    """
    begin_s = min(flow.start_s for flow in flows)
    end_s = max(flow.start_s + flow.duration_s for flow in flows)
    if end_s <= begin_s:
        raise UserError(f"the flows start at {begin_s:g} s and end at {end_s:g} s; a flow must have a duration")
    pairs = [(flow.client, flow.server) for flow in flows]
    capacity_mbit = float(network_capacity(network, duration_s, pairs).between(begin_s, end_s))
    received_mbit = sum(flow.received_bytes for flow in flows) * 8 / BITS_PER_MBIT
    return received_mbit / capacity_mbit if capacity_mbit else math.nan


def queueing_ms(flows: Sequence[FlowResult], path: Path) -> Floats:
    """Return the RTT minus that of the empty path at every sample of the flows, ms, shape (samples,).

    Jitter can make it negative.
    """
    delays = []
    for flow in flows:
        t_s, rtt_ms = flow.sender["t_s"], flow.sender["srtt_us"] / 1e3
        measured = rtt_ms > 0  # 0: no sample yet
        delays.append((rtt_ms - base_rtt_ms(path, t_s, flow.client))[measured])
    return np.concatenate(delays) if delays else np.empty(0)


def queue_ms(result: RunResult, network: Path | Rack, duration_s: float) -> Floats:
    """Return the time to send the backlog, ms, at every sample of the busiest port, shape (samples,).

    Empty if the queue was not sampled.
    """
    if not len(result.queue):
        return np.empty(0)
    port, backlog = result.queue["port"], result.queue["backlog_bytes"]
    busiest = max(np.unique(port), key=lambda number: backlog[port == number].sum())
    t_s, backlog = result.queue["t_s"][port == busiest], backlog[port == busiest]
    if isinstance(network, Rack):
        waits: Floats = backlog * 8 / BITS_PER_MBIT / network.frame_mbps * 1e3
        return waits
    return 1e3 * link_capacity(network, duration_s).seconds_to_carry(t_s, backlog)


def _count(result: RunResult, name: str) -> float:
    """Return the sum of a counter over the ports; NaN if there are none."""
    return float(sum(getattr(port, name) for port in result.ports)) if result.ports else math.nan


def summary(values: Floats) -> list[float]:
    """Return the mean and PERCENTILES of values; NaN without values."""
    if not values.size:
        return [math.nan] * (1 + len(PERCENTILES))
    return [float(values.mean()), *(float(np.percentile(values, percent)) for percent in PERCENTILES)]
