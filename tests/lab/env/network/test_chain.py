"""Chains of links on the real lab kernel: capacity, queues, delays and how flows share the links."""

from __future__ import annotations

from typing import Any

import pytest

from compare.metrics.max_min import mean_max_min_mbps
from env.lab import FlowResult, GuestFailed, Lab, RunResult
from env.network.capacity import PAYLOAD_SHARE
from env.network.chain import Chain, ChainLink
from env.network.path import Path
from tests.support.labs import checked_lab, shared_lab

LINK = ChainLink(rate_mbps=20, delay_ms=10)
PARKING_LOT = Chain((LINK, LINK, LINK))
PARKING_FLOWS = ((1, 4), (1, 2), (2, 3), (3, 4))

lab = shared_lab()


def flow(client: int, server: int, duration_s: float, **more: Any) -> dict[str, Any]:
    return {"scheme": "reno", "start_s": 0.0, "duration_s": duration_s, "client": client, "server": server, **more}


def run(lab: Lab, chain: Chain, routes: tuple[tuple[int, int], ...], duration_s: float = 10.0) -> RunResult:
    flows = [flow(client, server, duration_s) for client, server in routes]
    return lab.run(chain, flows, duration_s, sample_ms=50, seed=1, describe=True)


def mbps(one: FlowResult) -> float:
    return one.received_bytes * 8 / one.duration_s / 1e6


def content(result: RunResult) -> tuple[dict[str, Any], list[bytes]]:
    """Return a run's counters and descriptions, and the bytes of its samples."""
    tables = [result.queue, *(table for one in result.flows for table in (one.sender, one.receiver))]
    return result.as_dict(), [table.rows.tobytes() for table in tables]


@pytest.mark.parametrize(("rates_mbps", "slower"), [((24, 20), 1), ((20, 24), 0)])
def test_slower_link_sets_the_rate_and_holds_the_queue(lab: Lab, rates_mbps: tuple[float, float], slower: int) -> None:
    chain = Chain(tuple(ChainLink(rate_mbps=rate_mbps, delay_ms=10) for rate_mbps in rates_mbps))
    result = run(lab, chain, ((1, 3),))
    (one,) = result.flows
    # the start takes a few round trips
    assert 0.96 * 20 * PAYLOAD_SHARE < mbps(one) <= 20 * PAYLOAD_SHARE
    assert one.sent_bytes == one.received_bytes + one.inflight_bytes
    packets = [result.queue["backlog_packets"][result.queue["port"] == port] for port in (0, 1)]
    assert packets[slower].mean() > 10 * packets[1 - slower].mean()
    assert packets[slower].max() <= chain.link_path(slower).buffer_packets
    assert [port.device for port in result.ports] == ["r1-r2", "r2-r3"]
    assert result.ports[slower].dropped > 0
    # what the queues drop, TCP sends again
    assert sum(port.dropped for port in result.ports) == one.retransmits


def test_round_trip_of_an_idle_chain_is_that_of_the_route(lab: Lab) -> None:
    chain = Chain((ChainLink(delay_ms=5), ChainLink(delay_ms=20), ChainLink(delay_ms=0)))
    for client, server, rtt_ms in ((1, 4, 50), (2, 3, 40), (3, 4, 0)):
        (ping,) = lab.run(chain, [flow(client, server, 1.0, kind="request", size_bytes=1, pause_s=0.01)], 1.0).flows
        assert ping.latency.p50_us == pytest.approx(rtt_ms * 1e3, rel=0.01, abs=200)


def test_flows_on_separate_links_do_not_meet(lab: Lab) -> None:
    result = run(lab, PARKING_LOT, ((1, 2), (2, 3)), 5.0)
    assert all(mbps(one) > 0.95 * 20 * PAYLOAD_SHARE for one in result.flows)
    assert not result.queue["sent_packets"][result.queue["port"] == 2].any()


def test_loss_is_on_the_link_that_has_it(lab: Lab) -> None:
    result = run(lab, Chain((LINK, ChainLink(loss_pct=2))), ((1, 2), (2, 3)), 5.0)
    assert [port.lost > 0 for port in result.ports] == [False, True]
    assert mbps(result.flows[0]) > 2 * mbps(result.flows[1])


def test_parking_lot_of_reno_starves_the_long_flow(lab: Lab) -> None:
    result = run(lab, PARKING_LOT, PARKING_FLOWS, 20.0)
    long, *cross = [
        mbps(one) / fair_mbps
        for one, fair_mbps in zip(result.flows, mean_max_min_mbps(result.flows, PARKING_LOT), strict=True)
    ]
    assert 0 < long < 0.5
    assert all(1.5 < share < 2 for share in cross)
    # both flows of a link fill it
    assert all(long + share == pytest.approx(2, abs=0.1) for share in cross)


def test_run_gives_same_bytes_in_fresh_and_used_lab(lab: Lab) -> None:
    chain = Chain((LINK, ChainLink(rate_mbps=15, delay_ms=3, qdisc="fq_codel", loss_pct=0.5), LINK))
    with checked_lab() as fresh:
        first = content(run(fresh, chain, PARKING_FLOWS, 5.0))
        run(fresh, PARKING_LOT, ((2, 4),), 3.0)
        fresh.run(Path(), [{"scheme": "cubic", "start_s": 0.0, "duration_s": 2.0}], 2.0, seed=3)
        run(fresh, Chain((LINK,)), ((1, 2),), 2.0)
        assert content(run(fresh, chain, PARKING_FLOWS, 5.0)) == first
    assert content(run(lab, chain, PARKING_FLOWS, 5.0)) == first


def test_seed_changes_a_lossy_run(lab: Lab) -> None:
    chain = Chain((ChainLink(loss_pct=1), LINK))
    received = [lab.run(chain, [flow(1, 3, 3.0)], 3.0, seed=seed).flows[0].received_bytes for seed in (1, 2, 1)]
    assert received[0] == received[2] != received[1]


@pytest.mark.parametrize("qdisc", ["pfifo", "fq_codel", "cake", "red", "fq"])
def test_link_behaves_as_a_path_with_its_queue(lab: Lab, qdisc: str) -> None:
    result = run(lab, Chain((ChainLink(qdisc=qdisc), ChainLink(rate_mbps=400))), ((1, 3),), 5.0)
    path = Path(qdisc=qdisc)
    (single,) = lab.run(path, [flow(1, 1, 5.0)], 5.0, sample_ms=50, seed=1).flows
    # cake and RED with a buffer of one BDP keep Reno below the rate on both
    assert mbps(result.flows[0]) == pytest.approx(mbps(single), rel=0.25)
    assert result.flows[0].sender["srtt_us"].mean() == pytest.approx(single.sender["srtt_us"].mean(), rel=0.1)
    assert any(f"qdisc {qdisc} " in text for text in result.environment["qdiscs"])


def test_guest_refuses_a_chain_that_is_too_long(lab: Lab) -> None:
    with pytest.raises(GuestFailed, match="topology 'chain-9' is not a chain; the name of one is chain-3, for 3 links"):
        lab.call("build", topology="chain-9")
