"""docs/reference/comparison-metrics.md: the columns of summary.csv, from the tables of compare/metrics."""

from __future__ import annotations

from collections.abc import Iterable

from compare.metrics import flow_metrics, group_metrics, network_metrics, sharing
from compare.metrics.metric import Metric
from compare.report.pages import markdown_table

BETTER = {1: "more", 0: "", -1: "less"}
NETWORK = (
    network_metrics.UTILISATION,
    *network_metrics.QUEUEING,
    *network_metrics.QUEUE,
    network_metrics.DROPPED,
    network_metrics.MARKED,
    network_metrics.POLICED,
    network_metrics.LOST,
)
SHARING = (
    sharing.share_metric("SCHEME"),
    sharing.GAP,
    sharing.CONVERGENCE,
    sharing.AFTER_END,
    sharing.AFTER_STEP,
    sharing.CONVERGED,
    sharing.STABILITY,
)


def render() -> str:
    """Return the page."""
    return f"""# Metrics of a comparison

The columns of `summary.csv` and of the report. [Compare](../guides/compare.md#statistics) explains intervals, winners
and winning rates.

## The first flow under test

{_table(flow_metrics.METRICS)}

## Several flows, or requests

{_table([*group_metrics.GROUP_METRICS, group_metrics.JAIN])}

A suffix says which flows: none: all; `_10K`, `_1M`: those with requests of that size, mean per flow; `_client`: mean
per client; `_under_test`, `_reno`: those of the scheme under test or of another scheme, mean per flow. The latencies of
flows of one size form one population. Over several sizes, percentiles are averaged over the flows.

## The network

{_table(NETWORK)}

The path could have carried its rate (step by step), or its trace, and no more than its policer passes; 1448 of a
frame's 1514 bytes are payload. On loopback `reference_mbps` stands for it, which noise can exceed.

`queueing_*` is what the flows experienced, in their smoothed RTT: queues of both directions, and jitter, so it can be
negative. `queue_*` is what waited at the bottleneck at each sample, of all flows; loopback has none.

## Sharing a path

{_table(SHARING)}

The fair share is what the path can carry, divided by the number of flows on it, over time. Convergence and stability
are PCC Vivace's (NSDI 2018), with throughput over a second. Where two changes are less than 20 s apart, a quarter of
that time replaces the 5 s; phases below 2 s are left out. Flows that enter within a second of each other are one
change. A flow that does not converge counts with all its time, so read `converged` first.
"""


def _table(entries: Iterable[Metric]) -> str:
    rows = [[f"`{one.name}`", "" if one.unit == "1" else one.unit, BETTER[one.better], one.meaning] for one in entries]
    return "\n".join(markdown_table(["metric", "unit", "better", "meaning"], rows))
