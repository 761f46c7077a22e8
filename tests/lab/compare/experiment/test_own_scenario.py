"""Scenarios of a user: what the kernel refuses is refused before the first run."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.command.measurement import Measurement
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import plan
from env.errors import UserError


def measurement(file: Path, command: str) -> Measurement:
    file.write_text(f"name: {file.stem}\nclaim: c\nduration_s: 4\npath: {{topology: loopback, tc: ['{command}']}}\n")
    return Measurement(CompareConfig(scenario=[str(file)]), plan(str(file), ["cubic"], 1, None, 50))


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("tc qdisc add dev lo root netem loss 1% seed 42", 'netem loss 1% seed 42 failed (1): What is "seed"?'),
        ("tc qdisc add dev lo root netem reorder 25% 50%", "reordering not possible without specifying some delay"),
        ("tc qdisc add dev lo root nosuch", "Error: Specified qdisc kind is unknown."),
    ],
)
def test_wrong_tc_command_is_refused(tmp_path: Path, command: str, problem: str) -> None:
    with pytest.raises(UserError) as raised:
        measurement(tmp_path / "mine.yaml", command)
    message = str(raised.value)
    assert message.startswith(f"scenario mine: {command} failed")
    assert message.endswith(problem)
    assert "\n" not in message


def test_right_tc_command_is_taken(tmp_path: Path) -> None:
    assert measurement(tmp_path / "mine.yaml", "tc qdisc add dev lo root netem delay 5ms 1ms").experiment.binaries
