"""Stable-Baselines3's PPO as a baseline: it is trained once, as long as the run, and tested on the same paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from stable_baselines3 import PPO

from export import checkpoint
from studies.learning.stable_baselines import FILE_NAME, main
from tests.support.commands import train


@pytest.mark.timeout(600)
def test_library_trains_once_and_as_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    train("profile=bottleneck", "debug=smoke", "algo.total_decisions=500", f"runs={tmp_path}", "name=a", "seed=3")
    arguments = [str(tmp_path / "a"), "--scenarios", "bottleneck", "--seeds", "1", "--decisions", "40"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.count("| a | bottleneck |") == 1
    learner = PPO.load(tmp_path / "a" / FILE_NAME)
    assert learner.seed == 3
    assert learner.num_timesteps >= checkpoint.load(tmp_path / "a")["decisions"]
    monkeypatch.setattr(PPO, "learn", lambda *_, **__: pytest.fail("it is trained already"))
    assert main(arguments) == 0
    assert capsys.readouterr().out == printed
