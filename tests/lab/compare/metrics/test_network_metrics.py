"""The metrics of a queue whose length is known in advance: a constant window fills a path to the packet."""

from __future__ import annotations

import pytest

from compare.metrics.network_metrics import network_metrics
from compare.metrics.sharing import sharing_metrics
from env.lab import VirtualLab
from env.network.path import PACKET_BYTES
from env.network.scenario import Flow, Scenario

WINDOW = 100  # packets
DURATION_S = 8.0
PACKET_MS = PACKET_BYTES * 8 / 20e3


def test_a_full_pipe_and_a_queue_of_known_length() -> None:
    path = {"rate_mbps": 20, "rtt_ms": 40, "buffer_bdp": 2}
    scenario = Scenario("made", "claim", DURATION_S, path=path, flows=[Flow()])
    with VirtualLab(seed=1, modules=("tcp_window",)) as lab:
        lab.call("shell", command=f"echo {WINDOW} >/sys/module/tcp_window/parameters/packets")
        flows = scenario.flows_with(f"cwnd_{WINDOW}")
        result = lab.run(scenario.network(), flows, DURATION_S, sample_ms=50)
    found = {m.name: v for m, v in network_metrics(result, scenario.network(), DURATION_S, [True]).items()}
    # the window is there from the first ACK on, and a round trip is the time to send all of it
    waiting_ms = WINDOW * PACKET_MS - 40 - PACKET_MS
    assert found["queueing_mean"] == pytest.approx(waiting_ms, abs=0.7)
    assert found["queueing_p99"] == pytest.approx(waiting_ms, abs=1.0)
    # the same, seen from the router, where packets come in pairs by delayed acknowledgements
    assert found["queue_mean"] == pytest.approx(waiting_ms, abs=1.5 * PACKET_MS)
    assert found["queue_p95"] == pytest.approx(waiting_ms, abs=2.5 * PACKET_MS)
    assert 98 < found["utilisation"] <= 100
    assert found["dropped"] == 0
    shared = {m.name: v for m, v in sharing_metrics(result.flows, scenario).items()}
    assert shared["converged"] == 100
    assert shared["convergence"] < 0.3
    # of eight seconds, the first of which begins with a handshake and two round trips
    assert shared["stability"] < 1
