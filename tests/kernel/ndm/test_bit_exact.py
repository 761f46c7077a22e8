"""The module in the lab kernel decides as the integer reference does, bit for bit, over a whole recorded episode."""

from __future__ import annotations

import re

import numpy as np
import pytest

from env.network.scenario import load_scenario
from export.integer import reference
from export.integer.native import Native
from tests.support.labs import checked_lab

LINE = re.compile(r"flow=(\d+) decision=(\d+) x=([-\d,]+) action=([-\d,]+) cwnd=(\d+) srtt_us=(\d+)")
DECISIONS = 2000


@pytest.mark.parametrize(("scenario", "duration_s"), [("bottleneck", 110.0), ("stress", 40.0)])
def test_every_decision_equals_the_reference(scenario: str, duration_s: float) -> None:
    path = load_scenario(scenario).network_path()
    flows = [{"scheme": "ndm", "start_s": 0, "duration_s": duration_s}]
    with checked_lab("tcp_ndm") as lab:
        result = lab.run(path, flows, duration_s, trace=True)
    matches = [LINE.search(line) for line in result.trace]
    assert all(matches), result.trace[:3]
    rows = [match.groups() for match in matches if match]
    assert {row[0] for row in rows} == {rows[0][0]}, "one connection decides"
    assert [int(row[1]) for row in rows] == list(range(len(rows))), "no decision is missing from the record"
    if scenario == "bottleneck":
        assert len(rows) >= DECISIONS
    x = np.array([row[2].split(",") for row in rows], dtype=np.int16)  # [T, I] Q12
    actions = np.array([row[3].split(",") for row in rows], dtype=np.int16)  # [T, O] Q14
    model, _ = Native().shipped()
    expected, _ = reference.rollout(model, x)
    np.testing.assert_array_equal(actions, expected)
    assert len(np.unique(actions[:, 0])) > 10, "a policy that always says the same shows nothing"


def test_the_loaded_module_names_the_shipped_model() -> None:
    _, sha256 = Native().shipped()
    with checked_lab("tcp_ndm") as lab:
        shown = lab.call("shell", command="cat /sys/module/tcp_ndm/ndm/sha256")["stdout"].strip()
    assert shown == sha256
    assert re.fullmatch(r"[0-9a-f]{64}", shown)
