"""Metrics of a whole run: what its network carried, what waited in it and what it dropped. Pure functions.

There are two views of a queue. `queueing` is the RTT of the flows under test above the RTT of the empty path. It
contains every queue in both directions (with fair queueing the flow's queue), jitter, and the smoothing of Linux's RTT.
`queue` is what waited at the bottleneck when it was sampled, as the time that the link took to send it: exact, and of
all flows. On loopback paths, netem's delayed packets look like a queue, so there is no `queue`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compare.errors import CompareError
from compare.metrics.metric import BITS_PER_MBIT, Floats, Metric
from env.lab import FlowResult, RunResult
from env.network.capacity import base_rtt_ms, link_capacity, network_capacity
from env.network.path import Path
from env.network.rack import Rack

UTILISATION = Metric(
    "utilisation", "%", "Utilisation", 1, "goodput of all flows, of the payload that the network could have carried"
)
QUEUEING = (
    Metric("queueing_mean", "ms", "Mean queueing delay", -1, "mean RTT of the flows under test above the empty path's"),
    Metric("queueing_p50", "ms", "Median queueing delay", -1, "median of RTT above the empty path's"),
    Metric("queueing_p95", "ms", "p95 queueing delay", -1, "95th percentile of RTT above the empty path's"),
    Metric("queueing_p99", "ms", "p99 queueing delay", -1, "99th percentile of RTT above the empty path's"),
)
QUEUE = (
    Metric("queue_mean", "ms", "Mean queue", -1, "time that the link takes to send what waits at the bottleneck, mean"),
    Metric("queue_p95", "ms", "p95 queue", -1, "95th percentile of the time to send what waits"),
)
DROPPED = Metric("dropped", "packets", "Dropped", -1, "packets dropped by the bottleneck's queue")
MARKED = Metric("marked", "packets", "Marked", 0, "packets that the bottleneck's queue has marked (ECN)")
POLICED = Metric("policed", "packets", "Policed", -1, "packets dropped by the policer")
LOST = Metric("lost", "packets", "Lost", 0, "packets that the link has lost (netem)")
PERCENTILES = (50, 95, 99)


def network_metrics(
    result: RunResult, network: Path | Rack, duration_s: float, under_test: Sequence[bool]
) -> dict[Metric, float]:
    """Return the metrics that apply to a run's network; NaN for a metric without data.

    Raises CompareError for a flow without duration or samples.
    """
    flows = result.flows
    metrics = {UTILISATION: 100 * utilisation(flows, network, duration_s)}
    if isinstance(network, Path):
        delays = queueing_ms([flow for flow, tested in zip(flows, under_test, strict=True) if tested], network)
        metrics |= zip(QUEUEING, [_mean(delays), *(_percentile(delays, p) for p in PERCENTILES)], strict=True)
    if isinstance(network, Rack) or network.topology == "router":
        waits = queue_ms(result, network, duration_s)
        metrics |= zip(QUEUE, [_mean(waits), _percentile(waits, 95)], strict=True)
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
    """Return the goodput of all flows over the network's capacity, from the first flow's start to the last one's end.

    NaN where the network could carry nothing.
    """
    begin_s = min(flow.start_s for flow in flows)
    end_s = max(flow.start_s + flow.duration_s for flow in flows)
    if end_s <= begin_s:
        raise CompareError(f"the flows last from {begin_s:g} to {end_s:g} s; that is no time")
    pairs = [(flow.client, flow.server) for flow in flows]
    could = float(network_capacity(network, duration_s, pairs).between(begin_s, end_s))
    received = sum(flow.received_bytes for flow in flows) * 8 / BITS_PER_MBIT
    return received / could if could else math.nan


def queueing_ms(flows: Sequence[FlowResult], path: Path) -> Floats:
    """Return the RTT above that of the empty path at every sample of the flows, ms, shape (samples,).

    By jitter it may be below 0.
    """
    delays = []
    for flow in flows:
        t_s, rtt_ms = flow.sender["t_s"], flow.sender["srtt_us"] / 1e3
        measured = rtt_ms > 0  # 0 stands for: no sample yet
        delays.append((rtt_ms - base_rtt_ms(path, t_s, flow.client))[measured])
    return np.concatenate(delays) if delays else np.empty(0)


def queue_ms(result: RunResult, network: Path | Rack, duration_s: float) -> Floats:
    """Return how long what waits takes to be sent, ms, at every sample of the busiest port, shape (samples,).

    Empty where the queue was not sampled.
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
    """Return the sum over the ports; NaN where the queue was not sampled."""
    return float(sum(getattr(port, name) for port in result.ports)) if result.ports else math.nan


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else math.nan


def _percentile(values: Floats, percent: float) -> float:
    return float(np.percentile(values, percent)) if values.size else math.nan
