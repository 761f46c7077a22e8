"""The metrics of a run over a chain of links."""

from __future__ import annotations

import math

import pytest

from compare.metrics.chain_metrics import chain_metrics
from compare.metrics.group_metrics import find_groups
from env.lab import RunResult
from env.lab.result import PortCounts
from env.network.capacity import PAYLOAD_SHARE
from env.network.chain import Chain, ChainLink
from tests.support.results import made_flow, table

QUEUE = ["t_s", "port", "backlog_bytes", "backlog_packets", "sent_bytes", "sent_packets", "dropped", "marked"]
CHAIN = Chain((ChainLink(rate_mbps=20, delay_ms=10), ChainLink(rate_mbps=10, delay_ms=20)))
LONG_RTT_US = CHAIN.base_rtt_ms(1, 3) * 1e3


def measured(*, sampled: bool = True) -> dict[str, float]:
    """A flow over both links with 2 Mbit/s, and one over the first link with 8, both for 4 s."""
    long = made_flow(sent=[(1.0, 10, 0), (2.0, 10, LONG_RTT_US + 5000)], received=[(4.0, 1_000_000)])
    cross = made_flow(sent=[(1.0, 10, 90_000)], received=[(4.0, 4_000_000)])
    long.server, cross.server = 3, 2
    result = RunResult(duration_s=4.0, flows=[long, cross])
    if sampled:
        rows = [(1.0, 0, 25_000), (1.0, 1, 0), (2.0, 0, 50_000), (2.0, 1, 12_500)]
        result.queue = table(QUEUE, [[t, port, size, 0, 0, 0, 0, 0] for t, port, size in rows])
        result.ports = [PortCounts(device="r1-r2", dropped=7), PortCounts(device="r2-r3", port=1, dropped=2)]
    return {metric.name: value for metric, value in chain_metrics(result, CHAIN, (True, False)).items()}


def test_each_link_has_its_queue_drops_and_utilisation() -> None:
    metrics = measured()
    assert metrics["utilisation_link1"] == pytest.approx(100 * 10 / 20 / PAYLOAD_SHARE)
    assert metrics["utilisation_link2"] == pytest.approx(100 * 2 / 10 / PAYLOAD_SHARE)
    assert metrics["queue_mean_link1"] == pytest.approx(15), "10 and 20 ms at 20 Mbit/s"
    assert metrics["queue_mean_link2"] == pytest.approx(5), "0 and 10 ms at 10 Mbit/s"
    assert (metrics["dropped_link1"], metrics["dropped_link2"]) == (7, 2)


def test_queueing_is_rtt_above_that_of_the_route() -> None:
    assert measured()["queueing_mean"] == pytest.approx(5)


def test_shares_are_of_the_max_min_share() -> None:
    metrics = measured()
    # water-filling: 10 Mbit/s each, at which both links are full
    assert metrics["max_min_share_r1_r3"] == pytest.approx(2 / (10 * PAYLOAD_SHARE))
    assert metrics["max_min_share_r1_r2"] == pytest.approx(8 / (10 * PAYLOAD_SHARE))
    assert metrics["jain_max_min"] == pytest.approx((2 + 8) ** 2 / (2 * (2**2 + 8**2)))


def test_queue_without_samples_is_not_a_number() -> None:
    metrics = measured(sampled=False)
    assert all(math.isnan(metrics[name]) for name in ("queue_mean_link1", "queue_p95_link2", "dropped_link1"))


def test_flows_of_a_chain_have_no_group_of_clients() -> None:
    flows = [made_flow(sent=[], received=[(4.0, 1)]) for _ in range(3)]
    flows[2].client = 2
    assert [group.label for group in find_groups(flows, [True] * 3)] == ["", "client"]
    assert [group.label for group in find_groups(flows, [True] * 3, by_client=False)] == [""]
