"""Metrics of several flows of one run, in the columns of the TCP-NV paper's tables. Pure functions.

A run's flows fall into groups: all flows, flows with requests of one size, flows of one client, flows of one scheme. A
group is a set of units, and each of its values is the mean over the units. The group of all flows is one unit: the
paper's rows ".0" (summary). In the group of clients a unit is the flows of one client; in the other groups each flow is
a unit: the paper's rows ".1", ".10", ".12" (averages).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compare.errors import CompareError
from compare.metrics.metric import BITS_PER_MBIT, Metric
from env.lab import FlowResult

GROUP_METRICS = (
    Metric("cwnd", "packets", "cwnd", 0, "mean congestion window of a flow, mean over the flows"),
    Metric("rtt", "us", "RTT", -1, "mean of a flow's smoothed RTT, mean over the flows"),
    Metric(
        "rate", "Mbit/s", "Rate", 1, "goodput of the flows together, from the first one's start to the last one's end"
    ),
    Metric("rate_min", "Mbit/s", "Lowest rate", 1, "goodput of the slowest flow, over its own duration"),
    Metric("rate_max", "Mbit/s", "Highest rate", 0, "goodput of the fastest flow, over its own duration"),
    Metric("retrans_pct", "%", "Retransmitted", -1, "segments sent again, of all segments sent"),
    Metric("mean_latency", "us", "Mean latency", -1, "mean latency of the requests, or of a stream's writes"),
    Metric("p99_latency", "us", "p99 latency", -1, "99th percentile of the latencies"),
    Metric("retrans_total", "count", "Retransmits", -1, "segments sent again"),
)
JAIN = Metric("jain", "1", "Jain index", 1, "fairness of the goodputs of the flows under test: 1 when all are equal")


@dataclass(frozen=True)
class Group:
    """Flows that belong together, by their indices in the run.

    label: ends the metrics' names (rate_10K), empty for the whole run. title: what a table calls the group.
    """

    label: str
    title: str
    units: tuple[tuple[int, ...], ...]

    def metric(self, metric: Metric) -> Metric:
        """Return the metric as it is called for this group."""
        if not self.label:
            return metric
        return Metric(f"{metric.name}_{self.label}", metric.unit, metric.title, metric.better, metric.meaning)


def has_groups(flows: Sequence[FlowResult]) -> bool:
    """True for several flows, or for one with latencies: the metrics of the first flow do not describe the run."""
    return len(flows) > 1 or any(_size(flow) for flow in flows)


def find_groups(flows: Sequence[FlowResult], under_test: Sequence[bool]) -> list[Group]:
    """Return the groups of a run, the whole run first; none where has_groups() is false.

    under_test: for each flow, whether it has the scheme under test. Flows of several sizes are grouped by size, flows
    of one size by client where a client has several; flows under test and others by scheme.
    """
    if not has_groups(flows):
        return []
    everything = tuple(range(len(flows)))
    groups = [Group("", "all", (everything,))]
    sizes = sorted({_size(flow) for flow in flows} - {0}, reverse=True)
    clients = sorted({flow.client for flow in flows})
    if len(sizes) > 1:
        groups += [_each_flow(size_label(size), (i for i in everything if _size(flows[i]) == size)) for size in sizes]
    elif 1 < len(clients) < len(flows):
        units = (tuple(i for i in everything if flows[i].client == client) for client in clients)
        groups.append(Group("client", "per client", tuple(units)))
    if not all(under_test):
        groups.append(_each_flow("under_test", (i for i in everything if under_test[i])))
        for scheme in sorted({flows[i].scheme for i in everything if not under_test[i]}):
            of_scheme = (i for i in everything if not under_test[i] and flows[i].scheme == scheme)
            groups.append(_each_flow(scheme, of_scheme))
    return groups


def _each_flow(label: str, indices: Iterable[int]) -> Group:
    units = tuple((index,) for index in indices)
    return Group(label, f"{label.replace('_', ' ')}, per flow" if len(units) > 1 else label.replace("_", " "), units)


def size_label(size_bytes: int) -> str:
    """Return 10K for 10,000 and for 10,240 bytes, 1M for 1,000,000 and for 1,048,576."""
    kilo = 1024 if size_bytes % 1024 == 0 else 1000
    for power, letter in ((2, "M"), (1, "K")):
        if size_bytes >= kilo**power:
            return f"{size_bytes / kilo**power:.4g}{letter}"
    return f"{size_bytes}B"


def group_metrics(flows: Sequence[FlowResult], under_test: Sequence[bool]) -> dict[Metric, float]:
    """Return every metric of every group of a run; NaN for a metric without data.

    Raises CompareError for a flow without samples or duration.
    """
    values: dict[Metric, float] = {}
    measured: dict[tuple[int, ...], dict[str, float]] = {}
    for group in find_groups(flows, under_test):
        for unit in group.units:
            if unit not in measured:
                measured[unit] = _unit_metrics([flows[i] for i in unit])
        members = [i for unit in group.units for i in unit]
        mean_us, p99_us = _latencies([flows[i] for i in members])
        for metric in GROUP_METRICS:
            values[group.metric(metric)] = _mean(measured[unit][metric.name] for unit in group.units)
        values[group.metric(_METRIC["mean_latency"])] = mean_us
        values[group.metric(_METRIC["p99_latency"])] = p99_us
    flows_under_test = [flow for flow, tested in zip(flows, under_test, strict=True) if tested]
    if len(flows_under_test) > 1:
        values[JAIN] = jain_index([goodput_mbps(flow) for flow in flows_under_test])
    return values


_METRIC = {metric.name: metric for metric in GROUP_METRICS}


def _unit_metrics(flows: Sequence[FlowResult]) -> dict[str, float]:
    """Return the metrics of GROUP_METRICS for flows together, without the latencies."""
    rates = [goodput_mbps(flow) for flow in flows]
    begin_s = min(flow.start_s for flow in flows)
    end_s = max(flow.start_s + flow.duration_s for flow in flows)
    retransmits = float(sum(flow.retransmits for flow in flows))
    segments = sum(flow.segments_sent for flow in flows)
    return {
        "cwnd": _mean(_mean(flow.sender["cwnd"]) for flow in flows),
        "rtt": _mean(_mean(v for v in flow.sender["srtt_us"] if v > 0) for flow in flows),
        "rate": sum(flow.received_bytes for flow in flows) * 8 / BITS_PER_MBIT / (end_s - begin_s),
        "rate_min": min(rates),
        "rate_max": max(rates),
        "retrans_pct": 100 * retransmits / segments if segments else math.nan,
        "mean_latency": math.nan,
        "p99_latency": math.nan,
        "retrans_total": retransmits,
    }


def goodput_mbps(flow: FlowResult) -> float:
    """Return what the flow's receiver got over the flow's duration, Mbit/s; raises CompareError without duration."""
    duration_s = flow.duration_s
    if duration_s <= 0:
        raise CompareError(f"the flow's duration_s is {duration_s:g}; it must be positive")
    return flow.received_bytes * 8 / BITS_PER_MBIT / duration_s


def jain_index(values: Sequence[float]) -> float:
    """Return (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one flow has everything (Jain, Chiu, Hawe 1984).

    NaN when all are 0.
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else math.nan


def _latencies(flows: Sequence[FlowResult]) -> tuple[float, float]:
    """Return mean and 99th percentile of the latencies of flows, us; NaN when none has any.

    Flows of one size are one population: their histograms are added. Over several sizes a percentile of all requests
    would be one of the small ones, which are many more: there it is the mean over the flows, as in the paper's rows .0.
    """
    with_latency = [flow for flow in flows if flow.latency is not None and flow.latency.count]
    if len({_size(flow) for flow in with_latency}) <= 1:
        return mean_latency_us(with_latency), latency_percentile_us(with_latency, 99)
    return (
        _mean(mean_latency_us([flow]) for flow in with_latency),
        _mean(latency_percentile_us([flow], 99) for flow in with_latency),
    )


def mean_latency_us(flows: Sequence[FlowResult]) -> float:
    """Return the mean of all latencies of flows, us; NaN without any latency."""
    latencies = [flow.latency for flow in flows if flow.latency is not None]
    count = sum(latency.count for latency in latencies)
    return sum(latency.mean_us * latency.count for latency in latencies) / count if count else math.nan


def latency_percentile_us(flows: Sequence[FlowResult], percent: float) -> float:
    """Return a percentile of all latencies of flows, us, from the sum of their histograms; NaN without any.

    It is the middle of the bucket in which the latency of rank ceil(percent/100 n) lies, so its error is at most half
    a bucket: half a per cent (env/network).
    """
    buckets = sorted(bucket for flow in flows if flow.latency is not None for bucket in flow.latency.histogram)
    rank = math.ceil(percent * sum(count for _, _, count in buckets) / 100)
    below = 0
    for low_us, high_us, count in buckets:
        below += count
        if below >= rank:
            return (low_us + high_us) / 2
    return math.nan


def _size(flow: FlowResult) -> int:
    """Return the size of a flow's requests or writes, bytes; 0 for bulk."""
    return 0 if flow.kind == "bulk" else flow.size_bytes


def _mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN if all are."""
    finite = [value for value in values if math.isfinite(value)]
    return float(sum(finite) / len(finite)) if finite else math.nan
