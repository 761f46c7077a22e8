"""Max-min fair shares over several links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.metrics.max_min import max_min_shares, mean_max_min_mbps
from env.lab import FlowResult
from env.network.capacity import PAYLOAD_SHARE
from env.network.chain import Chain, ChainLink

LINKS = 3
ROUTES = st.tuples(st.integers(0, LINKS - 1), st.integers(1, LINKS)).filter(lambda ends: ends[0] < ends[1])


@pytest.mark.parametrize(
    ("routes", "capacities", "shares"),
    [
        ([[0]], [20], [20]),
        ([[0], [0]], [20], [10, 10]),
        # a parking lot: half of each link for every flow
        ([[0, 1, 2], [0], [1], [2]], [20, 20, 20], [10, 10, 10, 10]),
        # the flow over both links has what the slower one leaves, and the other link's flow the rest
        ([[0, 1], [0], [1]], [20, 10], [5, 15, 5]),
        # Bertsekas and Gallager: links that fill one after another
        ([[0], [0, 1], [1, 2], [1], [2]], [6, 9, 12], [3, 3, 3, 3, 9]),
        ([[0, 1]], [24, 20], [20]),
    ],
)
def test_shares_of_known_networks(routes: list[list[int]], capacities: list[float], shares: list[float]) -> None:
    assert max_min_shares(routes, capacities) == pytest.approx(shares)


@given(st.lists(ROUTES, min_size=1, max_size=8), st.lists(st.floats(0.1, 1000), min_size=LINKS, max_size=LINKS))
def test_every_flow_has_a_full_link_where_none_has_more(ends: list[tuple[int, int]], capacities: list[float]) -> None:
    routes = [range(*pair) for pair in ends]
    shares = max_min_shares(routes, capacities)
    crossing = [[share for share, route in zip(shares, routes, strict=True) if link in route] for link in range(LINKS)]
    for link, of_link in enumerate(crossing):
        assert sum(of_link) <= capacities[link] * (1 + 1e-9)
    for share, route in zip(shares, routes, strict=True):
        assert any(
            sum(crossing[link]) == pytest.approx(capacities[link]) and share >= max(crossing[link]) * (1 - 1e-9)
            for link in route
        )


def test_mean_share_counts_only_active_flows() -> None:
    def flow(client: int, server: int, start_s: float, duration_s: float) -> FlowResult:
        return FlowResult(
            scheme="reno", client=client, server=server, start_s=start_s, duration_s=duration_s, received_bytes=0
        )

    chain = Chain((ChainLink(rate_mbps=30 / PAYLOAD_SHARE), ChainLink(rate_mbps=20 / PAYLOAD_SHARE)))
    flows = [flow(1, 3, 0.0, 60.0), flow(1, 2, 20.0, 20.0)]
    # 20 Mbit/s of the second link, but 15 while the other flow shares the first one
    assert mean_max_min_mbps(flows, chain) == pytest.approx([(20 * 40 + 15 * 20) / 60, 15])
