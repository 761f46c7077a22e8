"""The metrics of a queue of known length: a constant window fills the path and waits in the queue."""

from __future__ import annotations

import pytest

from compare.metrics.network_metrics import network_metrics
from compare.metrics.sharing import sharing_metrics
from env.lab import Lab
from env.network.path import PACKET_BYTES
from env.network.scenario import Flow, Scenario
from tests.support.labs import shared_lab

WINDOW = 100  # packets
DURATION_S = 8.0
PACKET_MS = PACKET_BYTES * 8 / 20e3


lab = shared_lab("tcp_window", setup=f"echo {WINDOW} >/sys/module/tcp_window/parameters/packets")


def test_metrics_of_a_queue_of_known_length(lab: Lab) -> None:
    path = {"rate_mbps": 20, "rtt_ms": 40, "buffer_bdp": 2}
    scenario = Scenario("made", "claim", DURATION_S, path=path, flows=[Flow()])
    result = lab.run(scenario.network, scenario.flows_with(f"cwnd_{WINDOW}"), DURATION_S, sample_ms=50)
    values = {m.name: v for m, v in network_metrics(result, scenario.network, DURATION_S, [True]).items()}
    # the window is constant from the first ACK on, and a round trip is the time to send a window
    waiting_ms = WINDOW * PACKET_MS - 40 - PACKET_MS
    assert values["queueing_mean"] == pytest.approx(waiting_ms, abs=0.7)
    assert values["queueing_p99"] == pytest.approx(waiting_ms, abs=1.0)
    # the same at the router, where packets arrive in pairs because of delayed ACKs
    assert values["queue_mean"] == pytest.approx(waiting_ms, abs=1.5 * PACKET_MS)
    assert values["queue_p95"] == pytest.approx(waiting_ms, abs=2.5 * PACKET_MS)
    assert 98 < values["utilisation"] <= 100
    assert values["dropped"] == 0
    shared = {m.name: v for m, v in sharing_metrics(result.flows, scenario).items()}
    assert shared["converged"] == 100
    assert shared["convergence"] < 0.3
    # the first of the eight seconds begins with a handshake and two round trips
    assert shared["stability"] < 1
