"""The metrics of the network: utilisation, queueing delay, the queue and its counters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from compare.metrics.network_metrics import network_metrics
from env.lab import FlowResult, RunResult
from env.lab.result import PortCounts
from env.network.capacity import PAYLOAD_SHARE
from env.network.path import Path
from env.network.rack import Rack
from env.network.step import Step
from tests.support.results import made_flow, table

QUEUE = ["t_s", "port", "backlog_bytes", "backlog_packets", "sent_bytes", "sent_packets", "dropped", "marked"]
FRAME_MS = 1514 * 8 / 20e3  # at 20 Mbit/s


def made_result(*flows: FlowResult, backlogs: list[tuple[float, int, float]] | None = None, **counts: int) -> RunResult:
    """backlogs: (t_s, port, bytes). counts: of the one port."""
    result = RunResult(duration_s=4.0, flows=list(flows))
    if backlogs is not None:
        result.queue = table(QUEUE, [[t, port, size, 0, 0, 0, 0, 0] for t, port, size in backlogs])
        result.ports = [PortCounts(device="r-h2", **counts)]
    return result


def measured(result: RunResult, network: Path | Rack, under_test: tuple[bool, ...] = (True,)) -> dict[str, float]:
    metrics = network_metrics(result, network, 4.0, under_test)
    return {metric.name: value for metric, value in metrics.items()}


def test_utilisation_is_of_capacity_while_flows_run() -> None:
    # 2 MB in 4 s and 3 MB in the last 2 s: 40 Mbit of 80 Mbit on the wire
    flows = [
        made_flow(sent=[(1.0, 10, 41_000)], received=[(4.0, 2_000_000)]),
        made_flow(sent=[(3.0, 10, 41_000)], received=[(4.0, 3_000_000)], start_s=2.0, duration_s=2.0),
    ]
    metrics = measured(made_result(*flows), Path(rate_mbps=20), (True, False))
    assert metrics["utilisation"] == pytest.approx(50 / PAYLOAD_SHARE)
    late = measured(made_result(flows[1]), Path(rate_mbps=20, steps=(Step(at_s=3, rate_mbps=10),)))
    assert late["utilisation"] == pytest.approx(100 * 24 / 30 / PAYLOAD_SHARE)


def test_queueing_is_rtt_above_that_of_empty_path() -> None:
    path = Path(rate_mbps=20, rtt_ms=40, steps=(Step(at_s=2, rtt_ms=100),))
    base = [40 + FRAME_MS, 40 + FRAME_MS, 100 + FRAME_MS, 100 + FRAME_MS]
    sent = [(t, 10.0, 1e3 * (ms + more)) for t, ms, more in zip((0.5, 1.5, 2.5, 3.5), base, (1, 2, 3, 10), strict=True)]
    metrics = measured(made_result(made_flow(sent=[(0.1, 10.0, 0.0), *sent], received=[(4.0, 1)])), path)
    assert metrics["queueing_mean"] == pytest.approx(4)
    assert metrics["queueing_p50"] == pytest.approx(2.5)
    # of 1, 2, 3, 10: 0.85 and 0.97 of the way from 3 to 10
    assert (metrics["queueing_p95"], metrics["queueing_p99"]) == pytest.approx((8.95, 9.79))


def test_queueing_uses_the_base_rtt_of_each_flow() -> None:
    path = Path(rate_mbps=20, rtt_ms=40, client_extra_rtt_ms=(0, 60))
    flows = [
        replace(made_flow(sent=[(1.0, 10, 1e3 * (base + FRAME_MS + more))], received=[(4.0, 1)]), client=client)
        for client, base, more in ((1, 40, 2), (2, 100, 4), (1, 40, 50))
    ]
    assert measured(made_result(*flows), path, (True, True, False))["queueing_mean"] == pytest.approx(3)


def test_the_queue_is_the_time_its_link_takes() -> None:
    flow = made_flow(sent=[(1.0, 10, 41_000)], received=[(4.0, 1)])
    # 25 kB at 20 Mbit/s: 10 ms; at 10 Mbit/s: 20 ms
    backlogs = [(0.5, 0, 0.0), (1.0, 0, 25_000.0), (1.5, 0, 50_000.0), (3.0, 0, 25_000.0)]
    path = Path(rate_mbps=20, steps=(Step(at_s=2, rate_mbps=10),))
    metrics = measured(made_result(flow, backlogs=backlogs, dropped=7), path)
    assert metrics["queue_mean"] == pytest.approx((0 + 10 + 20 + 20) / 4)
    assert metrics["queue_p95"] == pytest.approx(20)
    assert metrics["dropped"] == 7
    assert not metrics.keys() & {"marked", "policed", "lost"}


def test_rack_queue_is_that_of_busiest_port() -> None:
    rack = Rack(clients=1, servers=2, rate_mbps=10_000)
    backlogs = [(t, port, 1e6 * port * t) for t in (1.0, 2.0) for port in (0, 1)]
    flow = made_flow(sent=[(1.0, 10, 100)], received=[(4.0, 1)])
    metrics = measured(made_result(flow, backlogs=backlogs), rack)
    # 1 and 2 MB at 10 Gbit/s of 1538-byte frames of which the switch counts 1514
    assert metrics["queue_mean"] == pytest.approx(1.5 * 8 / 10 * 1538 / 1514)
    assert "queueing_mean" not in metrics


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (Path(ecn=True, qdisc="fq_codel"), "marked"),
        (Path(police_mbps=5, police_burst_kb=10), "policed"),
        (Path(loss_pct=1), "lost"),
        (Path(steps=(Step(at_s=1, loss_pct=1),)), "lost"),
        (Path(topology="loopback", tc=["tc qdisc add dev lo root netem loss 1%"]), "lost"),
    ],
)
def test_counts_exist_where_the_path_has_them(path: Path, name: str) -> None:
    flow = made_flow(sent=[(1.0, 10, 41_000)], received=[(4.0, 1)])
    metrics = measured(made_result(flow, backlogs=[(1.0, 0, 0.0)], **{name: 3}), path)
    assert metrics[name] == 3
    assert metrics.keys() & {"marked", "policed", "lost"} == {name}
    assert ("dropped" in metrics) == ("queue_mean" in metrics) == (path.topology == "router")


def test_run_without_queue_samples_has_nan_values() -> None:
    flow = made_flow(sent=[(1.0, 10, 0)], received=[(4.0, 1)])
    metrics = measured(made_result(flow), Path())
    assert all(
        math.isnan(metrics[name]) for name in ("queue_mean", "queue_p95", "dropped", "queueing_mean", "queueing_p99")
    )
    assert np.isfinite(metrics["utilisation"])
