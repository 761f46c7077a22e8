"""Metrics of several flows of one run, with the columns of the TCP-NV paper's tables: pure functions.

A group has flows in common: all, those with requests of one size, those of a client, or those of a scheme. It consists
of units, and a metric of the group is the mean over its units. The group of all flows is one unit, as in the paper's
rows ".0" (summary). In the group of clients, the flows of each client are a unit. In the other groups each flow is a
unit, as in the paper's rows ".1", ".10", ".12" (averages).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compare.metrics.flow_metrics import goodput_mbps
from compare.metrics.metric import BITS_PER_MBIT, Metric, finite_mean
from env.lab import FlowResult

GROUP_METRICS = (
    Metric("cwnd", "packets", "cwnd", 0, "mean congestion window of a flow, mean over the flows"),
    Metric("rtt", "us", "RTT", -1, "mean of a flow's smoothed RTT, mean over the flows"),
    Metric(
        "rate", "Mbit/s", "Rate", 1, "goodput of all flows together, from the first flow's start to the last flow's end"
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
    """A group of flows.

    label: suffix of the metrics' names (rate_10K); empty for the whole run. title: the group's name in tables. units:
    the indices of the flows of each unit.
    """

    label: str
    title: str
    units: tuple[tuple[int, ...], ...]

    def metric(self, metric: Metric) -> Metric:
        """Return the metric with this group's suffix."""
        return replace(metric, name=f"{metric.name}_{self.label}") if self.label else metric


def find_groups(flows: Sequence[FlowResult], under_test: Sequence[bool], *, by_client: bool = True) -> list[Group]:
    """Return the groups of a run, the whole run first; none for a single bulk flow, which flow_metrics() describes.

    under_test: for each flow, whether it has the scheme under test. Flows of several sizes are grouped by size, flows
    of one size by client if a client has several. With competing flows there is also a group for each scheme.
    by_client: False leaves out the group of clients; in a chain the flows of a client cross different links.
    """
    if len(flows) == 1 and not _size(flows[0]):
        return []
    everything = tuple(range(len(flows)))
    groups = [Group("", "all", (everything,))]
    sizes = sorted({_size(flow) for flow in flows} - {0}, reverse=True)
    clients = sorted({flow.client for flow in flows})
    if len(sizes) > 1:
        groups += [_each_flow(size_label(size), (i for i in everything if _size(flows[i]) == size)) for size in sizes]
    elif by_client and 1 < len(clients) < len(flows):
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


def group_metrics(
    flows: Sequence[FlowResult], under_test: Sequence[bool], *, by_client: bool = True
) -> dict[Metric, float]:
    """Return every metric of every group of a run; NaN for a metric without data. by_client: of find_groups().

    Raises UserError for a flow without duration.
    """
    values: dict[Metric, float] = {}
    measured: dict[tuple[int, ...], dict[str, float]] = {}
    for group in find_groups(flows, under_test, by_client=by_client):
        for unit in group.units:
            if unit not in measured:
                measured[unit] = _unit_metrics([flows[i] for i in unit])
        members = [i for unit in group.units for i in unit]
        mean_us, p99_us = _latencies([flows[i] for i in members])
        for metric in GROUP_METRICS:
            values[group.metric(metric)] = finite_mean(measured[unit][metric.name] for unit in group.units)
        values[group.metric(_METRIC["mean_latency"])] = mean_us
        values[group.metric(_METRIC["p99_latency"])] = p99_us
    goodputs = [goodput_mbps(flow) for flow in itertools.compress(flows, under_test)]
    if len(goodputs) > 1:
        values[JAIN] = jain_index(goodputs)
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
        "cwnd": finite_mean(finite_mean(flow.sender["cwnd"]) for flow in flows),
        "rtt": finite_mean(finite_mean(v for v in flow.sender["srtt_us"] if v > 0) for flow in flows),
        "rate": sum(flow.received_bytes for flow in flows) * 8 / BITS_PER_MBIT / (end_s - begin_s),
        "rate_min": min(rates),
        "rate_max": max(rates),
        "retrans_pct": 100 * retransmits / segments if segments else math.nan,
        "mean_latency": math.nan,
        "p99_latency": math.nan,
        "retrans_total": retransmits,
    }


def jain_index(values: Sequence[float]) -> float:
    """Return (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984).

    It is 1 if all values are equal, 1/n if one flow has everything, and NaN if all values are 0.
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else math.nan


def _latencies(flows: Sequence[FlowResult]) -> tuple[float, float]:
    """Return mean and 99th percentile of the latencies of flows, us; NaN without latencies.

    The histograms of flows of one size are added. With several sizes, small requests are so many that they alone would
    decide the percentile; the mean over the flows is used there, as in the paper's rows .0.
    """
    with_latency = [flow for flow in flows if flow.latency is not None and flow.latency.count]
    if len({_size(flow) for flow in with_latency}) <= 1:
        return mean_latency_us(with_latency), latency_percentile_us(with_latency, 99)
    return (
        finite_mean(mean_latency_us([flow]) for flow in with_latency),
        finite_mean(latency_percentile_us([flow], 99) for flow in with_latency),
    )


def mean_latency_us(flows: Sequence[FlowResult]) -> float:
    """Return the mean of all latencies of flows, us; NaN without latencies."""
    latencies = [flow.latency for flow in flows if flow.latency is not None]
    count = sum(latency.count for latency in latencies)
    return sum(latency.mean_us * latency.count for latency in latencies) / count if count else math.nan


def latency_percentile_us(flows: Sequence[FlowResult], percent: float) -> float:
    """Return a percentile of all latencies of flows, us, from the sum of their histograms; NaN without latencies.

    It is the middle of the bucket that contains the latency of rank ceil(percent/100 n). The error is at most half a
    bucket, which is half a per cent (env/network).
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
