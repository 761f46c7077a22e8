"""Every scenario runs in the lab, and its flows receive data."""

from __future__ import annotations

import pytest

from env.lab import Lab
from env.network.scenario import load_scenario, scenario_names
from tests.support.labs import shared_lab

# a rack's links have 10 Gbit/s: the number of packets is similar
PATH_S, RACK_S = 2.0, 0.05


lab = shared_lab()


@pytest.mark.parametrize("name", scenario_names())
def test_scenario_runs_and_flows_receive(lab: Lab, name: str) -> None:
    scenario = load_scenario(name)
    scenario.stagger_ms = min(scenario.stagger_ms, 10)
    parts = scenario.path or scenario.rack or {}
    rtt_s = parts.get("rtt_ms", 0) / 1e3 + parts.get("rtt_us", 0) / 1e6
    short = scenario.lasting(max(RACK_S if scenario.rack is not None else PATH_S, 3 * rtt_s))
    result = lab.run(short.network, short.flows_with("cubic"), short.duration_s)
    assert len(result.flows) == len(short.flows_with("cubic"))
    # in this time a flow with a long round trip or a slow link may receive nothing
    assert sum(flow.received_bytes for flow in result.flows) > 10_000
