"""What the shipped model leaves to a competing flow, and what it makes of a longer route."""

from __future__ import annotations

import numpy as np
import pytest

from compare.metrics.flow_metrics import goodput_mbps
from env.lab import FlowResult, Lab
from env.network.capacity import PAYLOAD_SHARE
from env.network.scenario import load_scenario, scenarios_named
from tests.support.labs import shared_lab

pytestmark = pytest.mark.timeout(300)

lab = shared_lab("tcp_ndm", timeout_s=200)


@pytest.mark.parametrize("name", scenarios_named("harm"))
def test_competing_flow_keeps_a_quarter_of_its_share(lab: Lab, name: str) -> None:
    scenario = load_scenario(name)
    path = scenario.network_path()
    result = lab.run(path, scenario.flows_with("ndm"), scenario.duration_s, sample_ms=0, seed=1)
    assert result.guard == {}
    fair_mbps = path.reference_mbps * PAYLOAD_SHARE / 2
    assert goodput_mbps(result.flows[1]) >= 0.25 * fair_mbps


def rate_mbps(flow: FlowResult, begin_s: float, end_s: float) -> float:
    """Return what the flow's receiver has acknowledged between two times."""
    begin, end = np.searchsorted(flow.sender["t_s"], [begin_s, end_s])
    acked = flow.sender["bytes_acked"]
    return float((acked[end] - acked[begin]) * 8 / 1e6 / (end_s - begin_s))


@pytest.mark.parametrize(
    ("name", "least_mbps"), [("internet/route_5ms", 43), ("internet/route_50ms", 43)], ids=["5 ms", "50 ms"]
)
def test_longer_route_is_used_ten_seconds_later(lab: Lab, name: str, least_mbps: float) -> None:
    """The route becomes longer at 20 s, and shorter at 40 s, on a link of 50 Mbit/s."""
    scenario = load_scenario(name)
    result = lab.run(scenario.network_path(), scenario.flows_with("ndm"), scenario.duration_s, sample_ms=100, seed=1)
    for begin_s, end_s in ((10, 19), (30, 39), (50, 59)):
        assert rate_mbps(result.flows[0], begin_s, end_s) >= least_mbps, (begin_s, end_s)
