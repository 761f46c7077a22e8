"""How the shipped model uses a path whose route becomes longer."""

from __future__ import annotations

import numpy as np
import pytest

from env.lab import FlowResult, Lab
from env.network.scenario import load_scenario
from tests.support.labs import shared_lab

pytestmark = pytest.mark.timeout(300)

lab = shared_lab("tcp_ndm", timeout_s=200)


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
