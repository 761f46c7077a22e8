"""Racks and their traffic on the real lab kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env.lab import FlowResult, GuestFailed, Lab
from env.network.rack import Rack
from tests.support.labs import checked_lab, shared_lab

PAYLOAD_MBPS = 10_000 * 1448 / 1538  # of full frames on a 10 Gbit/s wire
RACK = Rack(clients=2, servers=1)


lab = shared_lab()


def flow(kind: str, size_bytes: int = 0, **more: Any) -> dict[str, Any]:
    return {"scheme": "reno", "start_s": 0.0, "duration_s": 0.5, "kind": kind, "size_bytes": size_bytes, **more}


def stream(**more: Any) -> dict[str, Any]:
    return flow("stream", 1 << 18, **more)


def rate_mbps(one: FlowResult) -> float:
    return one.received_bytes * 8 / one.duration_s / 1e6


def assert_accounted(one: FlowResult) -> None:
    assert one.sent_bytes == one.received_bytes + one.inflight_bytes
    assert one.received_bytes > 0
    assert one.inflight_bytes >= 0
    # a segment has between 1 and 1448 bytes
    assert one.sent_bytes / 1448 <= one.segments_sent - one.retransmits <= one.sent_bytes


def test_the_round_trip_of_an_idle_rack(lab: Lab) -> None:
    (ping,) = lab.run(RACK, [flow("request", 1)], 0.5).flows
    assert 20 <= ping.latency.p50_us <= 30
    assert ping.latency.p99_us <= 30
    assert_accounted(ping)


def test_small_request_is_bound_by_the_round_trip(lab: Lab) -> None:
    (small,) = lab.run(RACK, [flow("request", 10240)], 0.5).flows
    # 25 us of round trip and 8.7 us on the wire; the paper's rack, with slower hosts, had 2 Gbit/s
    assert 30 <= small.latency.p50_us <= 40
    assert 1900 <= rate_mbps(small) <= 2600
    assert_accounted(small)
    # a request follows the one before at once: the latencies fill the run
    assert small.latency.count * small.latency.mean_us == pytest.approx(0.5e6, rel=0.01)
    assert sum(count for _, _, count in small.latency.histogram) == small.latency.count
    low, high = small.latency.histogram[0][0], small.latency.histogram[-1][1]
    assert low <= small.latency.p50_us <= small.latency.p95_us <= small.latency.p99_us
    assert small.latency.p99_us <= small.latency.max_us <= high


def test_large_requests_and_streams_fill_ten_gigabits(lab: Lab) -> None:
    for kind, size_bytes, least in (("request", 1 << 20, 0.93), ("stream", 1 << 18, 0.99), ("bulk", 0, 0.99)):
        (one,) = lab.run(RACK, [flow(kind, size_bytes)], 0.5, sample_ms=10).flows
        # the rate includes the few round trips of the start
        assert least * PAYLOAD_MBPS < rate_mbps(one) <= PAYLOAD_MBPS, kind
        assert one.retransmits == 0, kind
        assert_accounted(one)
        # the queue is in the host, and TCP's small queues bound it: 256 KB are 213 us
        assert 200 < np.median(one.sender["srtt_us"]) < 350, kind
        assert (one.latency is not None) == (kind != "bulk")
        if kind != "bulk":
            assert one.latency.mean_us == pytest.approx(size_bytes * 8 / rate_mbps(one), rel=0.01)


@pytest.mark.parametrize(("host_queue_kb", "rtt_us"), [(128, 191), (256, 302), (1024, 966)])
def test_host_limits_the_queue_of_one_client(lab: Lab, host_queue_kb: float, rtt_us: float) -> None:
    rack = Rack(clients=2, host_queue_kb=host_queue_kb)
    (one,) = lab.run(rack, [stream()], 0.5, sample_ms=10).flows
    assert np.median(one.sender["srtt_us"]) == pytest.approx(rtt_us, rel=0.05)
    assert one.retransmits == 0


def test_two_clients_fill_the_buffer_of_the_switch(lab: Lab) -> None:
    result = lab.run(RACK, [stream(client=1), stream(client=2)], 0.5, sample_ms=5, describe=True)
    first, second = result.flows
    assert rate_mbps(first) + rate_mbps(second) == pytest.approx(PAYLOAD_MBPS, rel=0.01)
    full_us = RACK.buffer_kb * 1000 * 8 / RACK.frame_mbps + RACK.rtt_us
    longest_us = max(one.sender["srtt_us"].max() for one in (first, second))
    # the buffer, the queue of the sender's NIC, and a packet of each client on the wire
    assert 0.8 * full_us < longest_us < full_us + 256 * 1024 * 8 / RACK.frame_mbps + 2 * 55
    assert first.retransmits + second.retransmits > 0
    for one in (first, second):
        assert_accounted(one)
    described = result.environment
    assert any("tbf" in text and "sw1-s1" in text for text in described["qdiscs"])
    assert described["sysctls"]["net.ipv4.tcp_limit_output_bytes"] == "262144"


def test_flows_start_and_end_when_they_should(lab: Lab) -> None:
    flows = [stream(client=1, duration_s=0.6), stream(client=2, start_s=0.2, duration_s=0.2)]
    first, second = lab.run(RACK, flows, 0.6, sample_ms=10).flows
    t_s = second.sender["t_s"]
    assert t_s.min() >= 0.2
    assert t_s.max() == pytest.approx(0.4, abs=1e-4)
    before = second.receiver["bytes"][second.receiver["t_s"] < 0.2]
    assert not before.any()
    assert (first.start_s, first.duration_s) == (0, 0.6)
    t_s, received = first.receiver["t_s"], first.receiver["bytes"]

    def share(start_s: float, end_s: float) -> float:
        gained = np.interp(end_s, t_s, received) - np.interp(start_s, t_s, received)
        return float(gained * 8 / (end_s - start_s) / 1e6 / PAYLOAD_MBPS)

    assert share(0.1, 0.2) > 0.98
    assert share(0.25, 0.4) < 0.9
    assert share(0.5, 0.6) > 0.95
    for one in (first, second):
        assert_accounted(one)


def test_seed_decides_the_staggered_start(lab: Lab) -> None:
    runs = []
    for seed in (5, 5, 6):
        with checked_lab(seed=seed) as other:
            flows = [stream(client=c, duration_s=0.1, stagger_s=0.01) for c in (1, 2)]
            runs.append(other.run(RACK, flows, 0.1, sample_ms=10).flows)
    starts = [[one.start_s for one in flows] for flows in runs]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= start < 0.01 for flows in starts for start in flows)
    assert all(one.start_s + one.duration_s == pytest.approx(0.1) for flows in runs for one in flows)
    # the same seed, the same bytes
    for one, again in zip(runs[0], runs[1], strict=True):
        assert one.latency == again.latency
        assert (one.sender.rows == again.sender.rows).all()


def test_many_flows_are_each_accounted_for(lab: Lab) -> None:
    rack = Rack(clients=3, servers=2)
    flows = [
        {**flow(kind, size_bytes, client=client, server=server), "duration_s": 0.2, "scheme": scheme}
        for client in (1, 2, 3)
        for server in (1, 2)
        for kind, size_bytes, scheme in (("request", 10240, "cubic"), ("request", 1 << 20, "reno"), ("bulk", 0, "cdg"))
    ]
    result = lab.run(rack, flows, 0.2)
    for one in result.flows:
        assert_accounted(one)
    for server in (1, 2):
        total = sum(rate_mbps(one) for one in result.flows if one.server == server)
        assert 0.9 * PAYLOAD_MBPS < total <= PAYLOAD_MBPS


def test_connection_that_fails_names_the_flow() -> None:
    with checked_lab() as lab:
        lab.call("build", topology=RACK.topology)
        lab.call("execute", node="s1", argv=["ip", "link", "set", "s1-sw1", "down"])
        with pytest.raises(GuestFailed, match=r"TrafficError.*flow 0 did not get a connection"):
            lab.run(RACK, [flow("request", 10240) | {"duration_s": 4.0}], 4.0)
        # a flow of 0.5 s ends before its SYN is sent again
        (short,) = lab.run(RACK, [flow("request", 10240)], 0.5).flows
        assert (short.sent_bytes, short.received_bytes) == (0, 0)


def test_a_refused_congestion_control_is_an_error(lab: Lab) -> None:
    with pytest.raises(GuestFailed, match="nosuch"):
        lab.run(RACK, [{**stream(), "scheme": "nosuch"}], 0.5)
