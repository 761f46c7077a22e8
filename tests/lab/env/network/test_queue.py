"""The lab's samples and counters of the bottleneck's queue, against TCP's counts and against arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env.lab import Lab, RunResult
from env.network.path import PACKET_BYTES, Path
from env.network.rack import Rack
from tests.support.labs import shared_lab

lab = shared_lab("tcp_window", setup="echo 100 >/sys/module/tcp_window/parameters/packets")


def run(lab: Lab, path: Path, scheme: str = "cubic", duration_s: float = 5.0) -> RunResult:
    flows = [{"scheme": scheme, "start_s": 0.0, "duration_s": duration_s}]
    return lab.run(path, flows, duration_s, sample_ms=50, seed=1)


def test_tcp_retransmits_what_a_tail_drop_queue_drops(lab: Lab) -> None:
    path = Path()
    result = run(lab, path)
    (flow,), (port,) = result.flows, result.ports
    assert port.device == "r-h2"
    assert 0 < port.dropped == flow.retransmits
    assert (port.marked, port.lost, port.policed) == (0, 0, 0)
    assert result.queue["dropped"][-1] == port.dropped
    # slow start filled it
    assert result.queue["backlog_packets"].max() <= path.buffer_packets
    assert result.queue["backlog_packets"].max() > 0.8 * path.buffer_packets
    full = result.queue["backlog_packets"] > 0
    np.testing.assert_allclose(
        result.queue["backlog_bytes"][full] / PACKET_BYTES, result.queue["backlog_packets"][full]
    )


def test_samples_come_every_50_ms_with_rising_counters(lab: Lab) -> None:
    result = run(lab, Path())
    t_s = result.queue["t_s"]
    # a sample is taken 0.01 ms after its instant: SAMPLE_AFTER_NS of env/network/traffic/flow/main.c
    np.testing.assert_allclose(t_s[:100], 0.05 * np.arange(1, 101) + 1e-5, atol=1e-5)
    assert t_s[-1] == pytest.approx(5.0, abs=1e-3)
    for name in ("sent_bytes", "sent_packets", "dropped", "marked"):
        assert np.all(np.diff(result.queue[name]) >= 0), name
    # after 50 ms, with a round trip of 40 ms, only the SYN has passed
    assert result.queue["sent_packets"][0] == 1
    # the bytes that have passed the queue have been received or are on their way
    passed = result.queue["sent_bytes"][-1] * 1448 / PACKET_BYTES
    assert result.flows[0].received_bytes == pytest.approx(passed, rel=0.01)


def test_constant_window_keeps_a_constant_queue(lab: Lab) -> None:
    """Of a window of 100 packets, 66 fill the path; the other 34 wait, one of them being sent."""
    result = run(lab, Path(buffer_bdp=2.0), "cwnd_100")
    packets_per_s = 20e6 / 8 / PACKET_BYTES
    expected = 100 - 0.040 * packets_per_s
    settled = result.queue["t_s"] > 1
    backlog = result.queue["backlog_packets"][settled]
    assert backlog.mean() == pytest.approx(expected - 1, abs=1.0)
    assert result.ports[0].dropped == 0
    rtt_us = result.flows[0].sender["srtt_us"][-1]
    assert rtt_us / 1e6 == pytest.approx(100 / packets_per_s, rel=0.02)


@pytest.mark.parametrize(
    "queue",
    [{"qdisc": "step", "mark_ms": 2.0}, {"qdisc": "red"}, {"qdisc": "fq_codel"}, {"qdisc": "cake"}],
    ids=lambda queue: queue["qdisc"],
)
def test_every_queue_that_marks_counts_its_marks(lab: Lab, queue: dict[str, Any]) -> None:
    result = run(lab, Path(ecn=True, **queue))
    (port,) = result.ports
    assert port.marked > 0
    assert port.dropped == 0
    assert result.queue["marked"][-1] == port.marked
    without = run(lab, Path(qdisc="fq_codel" if queue["qdisc"] == "step" else queue["qdisc"]))
    assert without.ports[0].marked == 0
    assert without.ports[0].dropped > 0


def test_random_losses_and_policer_drops_are_counted_apart(lab: Lab) -> None:
    lossy = run(lab, Path(loss_pct=1.0)).ports[0]
    assert lossy.lost > 0
    assert (lossy.dropped, lossy.policed) == (0, 0)
    both = run(lab, Path(loss_pct=0.02, buffer_bdp=0.5), "reno", duration_s=20.0)
    assert both.ports[0].lost > 0
    assert both.ports[0].dropped > 0
    assert both.ports[0].lost + both.ports[0].dropped == both.flows[0].retransmits
    policed = run(lab, Path(police_mbps=10, police_burst_kb=50))
    assert policed.ports[0].policed == policed.flows[0].retransmits > 0
    assert (policed.ports[0].dropped, policed.ports[0].lost) == (0, 0)


def test_link_trace_has_a_queue_too(lab: Lab) -> None:
    path = Path(trace="train/lte-driving")
    result = run(lab, path)
    assert 0 < result.queue["backlog_packets"].max() <= path.buffer_packets
    assert result.queue["sent_packets"][-1] > 100


def test_loopback_path_samples_netem(lab: Lab) -> None:
    """netem is the only qdisc on this path: the packets that it delays are the backlog."""
    path = Path(topology="loopback", tc=["tc qdisc add dev lo root netem delay 20ms loss 1%"])
    result = run(lab, path)
    (port,) = result.ports
    assert port.device == "lo"
    assert port.lost > 0
    assert port.dropped == 0
    assert result.queue["backlog_packets"].max() > 0


def test_rack_has_a_queue_for_every_server(lab: Lab) -> None:
    rack = Rack(clients=2, servers=2, rate_mbps=100)
    flows = [{"scheme": "reno", "start_s": 0.0, "duration_s": 1.0, "client": client, "server": 1} for client in (1, 2)]
    result = lab.run(rack, flows, 1.0, sample_ms=50)
    busy, idle = result.ports
    assert [busy.device, idle.device] == ["sw1-s1", "sw1-s2"]
    port = result.queue["port"]
    assert set(port) == {0.0, 1.0}
    assert 0 < result.queue["backlog_bytes"][port == 0].max() <= rack.buffer_kb * 1000
    assert result.queue["sent_packets"][port == 1].max() == 0
    assert idle.dropped == 0


def test_counters_of_a_second_run_start_at_zero(lab: Lab) -> None:
    first, second = (run(lab, Path(), duration_s=2.0) for _ in range(2))
    silent = lab.run(Path(), [{"scheme": "cubic", "start_s": 0.0, "duration_s": 2.0}], 2.0)
    assert second.queue["sent_packets"][0] == first.queue["sent_packets"][0] == 1
    assert not silent.queue.columns
