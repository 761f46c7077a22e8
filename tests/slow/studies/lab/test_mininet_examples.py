"""Mininet's own examples, as the package installs them: each runs in the lab, or says why it cannot."""

from __future__ import annotations

import re

import pytest

from studies.lab.mininet_examples import EXAMPLES, FOLDER, Example, run
from tests.support.tools import find_tool


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_runs_or_says_why_not(example: Example) -> None:
    assert (FOLDER / f"{example.name}.py").is_file(), "Mininet's examples are missing: run `setup/packages.py`"
    for program in ("ovs-vsctl", "ovs-testcontroller", "ping", "iperf", "vconfig", "iptables"):
        find_tool(program, "scripts")
    outcome = run(example)
    for pattern in example.expected:
        assert re.search(pattern, outcome.output), outcome.output
    if not example.refused:
        assert outcome.status == 0, outcome.output


def test_a_seed_gives_the_same_output() -> None:
    first, second = (run(EXAMPLES["popenpoll"], "--seed", "1") for _ in range(2))
    assert (first.output, first.virtual_s) == (second.output, second.virtual_s)
