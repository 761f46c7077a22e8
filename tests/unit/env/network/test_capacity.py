"""The capacity of a network over time: rates, steps, traces, policers, racks."""

from __future__ import annotations

from pathlib import Path as FilePath

import numpy as np
import pytest

from env.network.capacity import PAYLOAD_SHARE, base_rtt_ms, link_capacity, network_capacity
from env.network.path import Path
from env.network.rack import Rack
from env.network.step import Step

STEPS = (Step(at_s=4, rate_mbps=10), Step(at_s=6, rtt_ms=100), Step(at_s=8, rate_mbps=40, rtt_ms=20))


def test_constant_rate_carries_payload_of_frames() -> None:
    capacity = network_capacity(Path(rate_mbps=20), 10.0)
    # 1448 of 1514 bytes
    assert capacity.between(2.0, 5.0) == pytest.approx(60 * 1448 / 1514)
    assert pytest.approx(1448 / 1514) == PAYLOAD_SHARE


def test_steps_of_the_rate_are_followed() -> None:
    capacity = network_capacity(Path(rate_mbps=20, steps=STEPS), 10.0)
    # 4 s of 20, 4 s of 10 and 2 s of 40; from 3 to 5 s half of either
    assert capacity.between(0.0, 10.0) == pytest.approx(200 * PAYLOAD_SHARE)
    assert capacity.between(np.array([3.0, 7.0]), np.array([5.0, 9.0])) == pytest.approx(
        np.array([30.0, 50.0]) * PAYLOAD_SHARE
    )


def test_policer_limits_capacity_but_not_the_drain() -> None:
    path = Path(rate_mbps=20, police_mbps=15, police_burst_kb=50, steps=STEPS)
    assert network_capacity(path, 10.0).between(0.0, 10.0) == pytest.approx((60 + 40 + 30) * PAYLOAD_SHARE)
    # 25 kB take 10 ms at 20 Mbit/s
    assert link_capacity(path, 10.0).seconds_to_carry(np.array([1.0]), np.array([25_000.0])) == pytest.approx(0.01)


def test_a_queue_drains_at_the_rates_that_come() -> None:
    capacity = link_capacity(Path(rate_mbps=20, steps=STEPS), 10.0)
    # at 3.9 s: 250 kB go in 0.1 s at 20 Mbit/s, another 250 kB take 0.2 s at 10 Mbit/s; nothing takes no time
    waits = capacity.seconds_to_carry(np.array([3.9, 3.9, 3.9]), np.array([250_000.0, 500_000.0, 0.0]))
    assert waits == pytest.approx([0.1, 0.3, 0.0])


def test_a_trace_carries_its_opportunities_again_and_again(tmp_path: FilePath) -> None:
    # two packets at 1 ms, none at 2 and 3 ms, one at 4 ms; then from the beginning
    (tmp_path / "four.trace").write_text("1\n1\n4\n")
    path = Path(trace=str(tmp_path / "four.trace"))
    capacity = network_capacity(path, 1.0)
    packet = 1448 * 8 / 1e6
    begins = np.array([0.0, 0.001, 0.003, 0.004, 0.0])
    assert capacity.between(begins, np.array([0.001, 0.003, 0.004, 0.005, 1.0])) / packet == pytest.approx(
        [2, 0, 1, 2, 750]
    )
    # two packets that wait at 1 ms go at 4 and within the fifth millisecond
    assert capacity.seconds_to_carry(np.array([0.001]), np.array([2 * 1514.0])) == pytest.approx([0.0035])
    # the mean of the path is the same, in frames
    assert float(capacity.between(0.0, 1.0)) == pytest.approx(path.rate_mbps * PAYLOAD_SHARE)
    police = path.rate_mbps / 2
    policed = network_capacity(Path(trace=path.trace, police_mbps=police, police_burst_kb=10), 1.0)
    # in one millisecond of two the trace gives more than the policer
    assert float(policed.between(0.0, 1.0)) == pytest.approx(0.5 * police * PAYLOAD_SHARE)


def test_a_loopback_path_carries_what_its_reference_says() -> None:
    path = Path(topology="loopback", tc=["tc qdisc add dev lo root netem delay 1ms"], reference_mbps=940)
    assert network_capacity(path, 10.0).between(0.0, 2.0) == pytest.approx(1880)


@pytest.mark.parametrize(
    ("pairs", "links"),
    [
        ([(1, 1)], 1),
        ([(1, 1), (2, 1), (3, 1)], 1),  # all into one server
        ([(1, 1), (2, 2)], 2),
        ([(1, 1), (1, 2), (2, 1), (3, 2)], 2),
        ([(1, 1), (1, 2), (1, 3)], 1),  # all from one client
        ([], 0),
    ],
)
def test_rack_capacity_is_that_of_busy_links(pairs: list[tuple[int, int]], links: int) -> None:
    rack = Rack(clients=3, servers=3, rate_mbps=10_000)
    # 1448 of the 1538 bytes that a frame takes on the wire
    assert network_capacity(rack, 1.0, pairs).between(0.0, 1.0) == pytest.approx(links * 10_000 * 1448 / 1538)


def test_base_rtt_follows_steps_and_client() -> None:
    path = Path(rate_mbps=20, rtt_ms=40, steps=STEPS, client_extra_rtt_ms=(0, 60), reference_rtt_ms=41)
    # a frame takes 0.6056 ms at 20 Mbit/s, twice that at 10, half of it at 40
    frame = 1514 * 8 / 20e3
    rtts_ms = base_rtt_ms(path, np.array([0.0, 3.99, 4.0, 6.5, 9.0]), client=1)
    assert rtts_ms == pytest.approx([41 + frame, 41 + frame, 41 + 2 * frame, 101 + 2 * frame, 21 + frame / 2])
    assert base_rtt_ms(path, np.array([0.0]), client=2) == pytest.approx([101 + frame])
