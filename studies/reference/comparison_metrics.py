"""docs/reference/comparison-metrics.md: the columns of summary.csv, from the tables of compare/metrics."""

from __future__ import annotations

from collections.abc import Iterable

from compare.metrics import chain_metrics, flow_metrics, group_metrics, network_metrics, sharing
from compare.metrics.metric import Metric
from env.markdown import markdown_table

BETTER = {1: "more", 0: "", -1: "less"}
CHAIN = (*chain_metrics.link_metrics("N"), chain_metrics.max_min_metric("A", "B"), chain_metrics.JAIN_MAX_MIN)
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

Without a suffix, a metric is over all flows. Suffixes select flows: `_10K` and `_1M` those with requests of that size,
`_under_test` those of the scheme under test, `_reno` those of Reno (mean per flow); `_client` gives the mean per
client. The latencies of all flows of one size are taken together. With several sizes, percentiles are averaged over the
flows.

## The network

{_table(NETWORK)}

The network could have carried the path's rate (with its steps) or its trace, limited by a policer; 1448 of a frame's
1514 bytes are payload. Loopback paths have `reference_mbps` instead, which noise can exceed. `queueing_*` comes from
the smoothed RTT of the flows under test, with the queues of both directions and jitter; `queue_*` from samples of the
bottleneck's backlog, which contains all flows. Loopback paths have no `queue_*`.

## The links of a chain

{_table(CHAIN)}

A chain has these in place of the metrics of one bottleneck, and `queueing_*`, which contains the queues of all links on
the flows' routes. Link N leads from router N to the next one. The max-min share of a flow is that of water-filling: all
active flows grow together, and those that cross a full link stop. In a parking lot of equal links it is half of a link
for each flow.

## Sharing a path

{_table(SHARING)}

The fair share is the path's capacity divided by the number of active flows. Convergence and stability are defined as
in PCC Vivace (NSDI 2018), with throughput over a second. If two changes are less than 20 s apart, a quarter of that
time replaces the 5 s; phases below 2 s are left out. Changes within a second of each other count as one. A flow that
does not converge counts with all its time, so read `converged` first.
"""


def _table(entries: Iterable[Metric]) -> str:
    rows = [[f"`{one.name}`", "" if one.unit == "1" else one.unit, BETTER[one.better], one.meaning] for one in entries]
    return markdown_table(["metric", "unit", "better", "meaning"], rows)
