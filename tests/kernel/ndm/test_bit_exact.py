"""tcp_ndm in the lab kernel makes the decisions of the integer reference, bit for bit, over a whole run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from env.network.scenario import load_scenario
from export.integer import reference
from tests.support.guest import shell
from tests.support.kernel.native import Native
from tests.support.labs import checked_lab, traced_decisions

DECISIONS = 2000


@pytest.mark.parametrize(("scenario", "duration_s"), [("bottleneck", 110.0), ("stress", 40.0)])
def test_every_decision_equals_the_reference(scenario: str, duration_s: float) -> None:
    path = load_scenario(scenario).network_path()
    flows = [{"scheme": "ndm", "start_s": 0, "duration_s": duration_s}]
    with checked_lab("tcp_ndm") as lab:
        result = lab.run(path, flows, duration_s, trace=True)
    decisions = traced_decisions(result.trace)
    assert len(decisions) == len(result.trace)
    assert len({decision.flow for decision in decisions}) == 1, "more than one connection decides"
    assert [decision.number for decision in decisions] == list(range(len(decisions))), "a decision is missing"
    if scenario == "bottleneck":
        assert len(decisions) >= DECISIONS
    x = np.array([decision.x for decision in decisions], np.int16)  # [T, I] Q12
    actions = np.array([decision.action for decision in decisions], np.int16)  # [T, O] Q14
    model, _ = Native().shipped()
    expected, _ = reference.rollout(model, x)
    np.testing.assert_array_equal(actions, expected)
    assert len(np.unique(actions[:, 0])) > 10, "a constant policy shows nothing"


def test_the_loaded_module_names_the_shipped_model() -> None:
    _, sha256 = Native().shipped()
    with checked_lab("tcp_ndm") as lab:
        shown = shell(lab, "cat /sys/module/tcp_ndm/ndm/sha256")
    assert shown == sha256
    assert re.fullmatch(r"[0-9a-f]{64}", shown)
