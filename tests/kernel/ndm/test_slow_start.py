"""What the first sixteen round trips of the shipped model lose, in a buffer of a quarter of the BDP."""

from __future__ import annotations

import pytest

from compare.metrics.flow_metrics import goodput_mbps
from env.lab import Lab
from env.network.path import PACKET_BYTES
from env.network.scenario import load_scenario, scenarios_named
from tests.support.labs import shared_lab

pytestmark = pytest.mark.timeout(120)

# the first drain, eight decisions after the beginning, leaves three quarters for three of the sixteen round trips
DRAIN = 0.25 * 3 / 16

lab = shared_lab("tcp_ndm", timeout_s=100)


@pytest.mark.parametrize("name", scenarios_named("start"))
def test_slow_start_loses_less_than_half_of_the_bdp(lab: Lab, name: str) -> None:
    """A window that doubles until the queue has overflowed loses up to the whole BDP."""
    scenario = load_scenario(name)
    path = scenario.network_path()
    for seed in (1, 2, 3):
        (flow,) = lab.run(path, scenario.flows_with("ndm"), scenario.duration_s, sample_ms=0, seed=seed).flows
        assert flow.retransmits < path.bdp_bytes / PACKET_BYTES / 2
        assert goodput_mbps(flow) > (0.5 - DRAIN) * path.rate_mbps
