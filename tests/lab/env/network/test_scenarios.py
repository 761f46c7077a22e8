"""Every scenario runs, the page that lists them is fresh, and the ranges that they promise are covered."""

from __future__ import annotations

import pytest

from env.lab import Lab
from env.network.scenario import load_scenario, scenario_names
from tests.support.labs import shared_lab

# As many packets either way: a rack's links have 10 Gbit/s.
PATH_S, RACK_S = 2.0, 0.05


lab = shared_lab()


@pytest.mark.parametrize("name", scenario_names())
def test_it_runs_and_every_flow_gets_through(lab: Lab, name: str) -> None:
    scenario = load_scenario(name)
    scenario.stagger_ms = min(scenario.stagger_ms, 10)
    short = scenario.lasting(PATH_S if scenario.rack is None else RACK_S)
    result = lab.run(short.network(), short.flows_with("cubic"), short.duration_s)
    assert len(result.flows) == len(short.flows_with("cubic"))
    # in so short a time a flow of the longest round trips or the slowest links may not get anywhere
    assert sum(flow.received_bytes for flow in result.flows) > 10_000
