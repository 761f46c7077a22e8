"""Metrics of a run over a chain of links: pure functions.

`queueing` is the RTT of the flows under test above the RTT of their empty route, so it contains the queues of all links
on it. The other metrics are of each link, or of the flows of each route.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from compare.metrics.flow_metrics import goodput_mbps
from compare.metrics.group_metrics import jain_index
from compare.metrics.max_min import mean_max_min_mbps
from compare.metrics.metric import BITS_PER_MBIT, Floats, Metric, finite_mean
from compare.metrics.network_metrics import QUEUEING, summary
from env.lab import FlowResult, RunResult
from env.network.capacity import PAYLOAD_SHARE
from env.network.chain import Chain

JAIN_MAX_MIN = Metric(
    "jain_max_min",
    "1",
    "Jain index of max-min shares",
    1,
    "Jain index of goodput over max-min share, all bulk flows: 1 when all have the same multiple of their share",
)


def link_metrics(link: int | str) -> tuple[Metric, Metric, Metric, Metric]:
    """Return the metrics of a link: utilisation, mean and 95th percentile of its queue, dropped packets."""
    name, title = f"link{link}", f"link {link}"
    return (
        Metric(
            f"utilisation_{name}",
            "%",
            f"Utilisation, {title}",
            1,
            "goodput of the flows over the link over the payload that it could have carried",
        ),
        Metric(
            f"queue_mean_{name}", "ms", f"Mean queue, {title}", -1, "mean time that the link takes to send its queue"
        ),
        Metric(
            f"queue_p95_{name}", "ms", f"p95 queue, {title}", -1, "95th percentile of the time to send the link's queue"
        ),
        Metric(f"dropped_{name}", "packets", f"Dropped, {title}", -1, "packets dropped by the link's queue"),
    )


def max_min_metric(client: int | str, server: int | str) -> Metric:
    """Return the metric of the share of a route's flows."""
    meaning = "mean goodput of the bulk flows between two routers over their mean max-min share: 1 is fair"
    return Metric(f"max_min_share_r{client}_r{server}", "1", f"Max-min share, r{client}-r{server}", 0, meaning)


def chain_metrics(result: RunResult, chain: Chain, under_test: Sequence[bool]) -> dict[Metric, float]:
    """Return the metrics that apply to a run over a chain; NaN for a metric without data."""
    delays = queueing_ms(list(itertools.compress(result.flows, under_test)), chain)
    metrics = dict(zip(QUEUEING, summary(delays), strict=True))
    begin_s = min(flow.start_s for flow in result.flows)
    seconds = max(flow.start_s + flow.duration_s for flow in result.flows) - begin_s
    for i, link in enumerate(chain.links):
        crossing = [flow for flow in result.flows if i in chain.route(flow.client, flow.server)]
        received_mbit = sum(flow.received_bytes for flow in crossing) * 8 / BITS_PER_MBIT
        waits = queue_ms(result, i, link.rate_mbps)
        mean, _, p95, _ = summary(waits)
        dropped = float(result.ports[i].dropped) if result.ports else math.nan
        used_pct = 100 * received_mbit / (link.rate_mbps * PAYLOAD_SHARE * seconds)
        metrics |= zip(link_metrics(i + 1), (used_pct, mean, p95, dropped), strict=True)
    return metrics | _shares(result.flows, chain)


def queueing_ms(flows: Sequence[FlowResult], chain: Chain) -> Floats:
    """Return the RTT minus that of the empty route at every sample of the flows, ms, shape (samples,)."""
    delays = []
    for flow in flows:
        rtt_ms = flow.sender["srtt_us"] / 1e3
        delays.append(rtt_ms[rtt_ms > 0] - chain.base_rtt_ms(flow.client, flow.server))  # 0: no sample yet
    return np.concatenate(delays) if delays else np.empty(0)


def queue_ms(result: RunResult, port: int, rate_mbps: float) -> Floats:
    """Return the time to send a link's queue, ms, at every sample, shape (samples,); empty if it was not sampled."""
    if not len(result.queue):
        return np.empty(0)
    backlog: Floats = result.queue["backlog_bytes"][result.queue["port"] == port]
    return backlog * 8 / BITS_PER_MBIT / rate_mbps * 1e3


def _shares(flows: Sequence[FlowResult], chain: Chain) -> dict[Metric, float]:
    """Return how the flows share the links. Empty with other traffic than bulk, which does not fill its share."""
    if {flow.kind for flow in flows} != {"bulk"}:
        return {}
    fair = mean_max_min_mbps(flows, chain)
    goodputs = [goodput_mbps(flow) for flow in flows]
    metrics = {}
    for client, server in sorted({(flow.client, flow.server) for flow in flows}):
        of_route = [i for i, flow in enumerate(flows) if (flow.client, flow.server) == (client, server)]
        share = finite_mean(goodputs[i] for i in of_route) / finite_mean(fair[i] for i in of_route)
        metrics[max_min_metric(client, server)] = share
    if len(flows) > 1:
        metrics[JAIN_MAX_MIN] = jain_index([mbps / share for mbps, share in zip(goodputs, fair, strict=True)])
    return metrics
