"""Max-min fair shares of flows over several links: pure functions.

Shares are max-min fair if no flow can have more without less for a flow that has no more than it (Bertsekas and
Gallager, Data Networks, section 6.5.2). With a single link they are equal.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from compare.metrics.sharing import active_intervals
from env.lab import FlowResult
from env.network.capacity import PAYLOAD_SHARE
from env.network.chain import Chain


def max_min_shares(routes: Sequence[Collection[int]], capacities: Sequence[float]) -> list[float]:
    """Return the max-min fair share of each flow, by water-filling. routes: the links of each flow, by their index.

    All flows grow together; those that cross a full link stay as they are, and the others grow on.
    """
    shares = [math.nan] * len(routes)
    left, growing = dict(enumerate(capacities)), set(range(len(routes)))
    while growing:
        levels = {link: left[link] / crossing for link in left if (crossing := sum(link in routes[i] for i in growing))}
        full = min(levels, key=lambda link: levels[link])
        for i in [i for i in growing if full in routes[i]]:
            shares[i] = levels[full]
            growing.remove(i)
            for link in routes[i]:
                left[link] -= levels[full]
    return shares


def mean_max_min_mbps(flows: Sequence[FlowResult], chain: Chain) -> list[float]:
    """Return the mean of each flow's max-min share while it is active, Mbit/s of payload."""
    routes = [chain.route(flow.client, flow.server) for flow in flows]
    capacities = [link.rate_mbps * PAYLOAD_SHARE for link in chain.links]
    megabits, seconds = [0.0] * len(flows), [0.0] * len(flows)
    for begin_s, end_s, active in active_intervals(flows):
        shares = max_min_shares([routes[i] for i in active], capacities)
        for i, share_mbps in zip(active, shares, strict=True):
            megabits[i] += share_mbps * (end_s - begin_s)
            seconds[i] += end_s - begin_s
    return [megabit / second for megabit, second in zip(megabits, seconds, strict=True)]
