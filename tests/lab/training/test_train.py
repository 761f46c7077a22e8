"""train.py on the real lab: a run that is killed, interrupted and resumed ends as an uninterrupted one."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from env.lab.virtual import ALWAYS_LOADED
from export import checkpoint
from tests.support.commands import SMALL, WITH_SNAPSHOTS, assert_gone, ended, start, train, wait_for
from training.run_folder import curves


@pytest.mark.parametrize("options", [[], WITH_SNAPSHOTS], ids=["plain", "snapshots"])
def test_killed_and_interrupted_run_equals_uninterrupted_one(tmp_path: Path, options: list[str]) -> None:
    """One run is killed after an update, ended by Ctrl-C at a random decision, and resumed with two workers."""
    whole = start("train.py", *SMALL, *options, f"runs={tmp_path}", "name=whole")
    run = tmp_path / "parts"
    first = start("train.py", *SMALL, *options, f"runs={tmp_path}", "name=parts")
    labs = wait_for(first, run)
    time.sleep(np.random.default_rng().uniform(0, 0.3))
    first.kill()
    first.communicate()
    assert_gone(labs)

    second = start("train.py", f"resume={run}")
    labs = wait_for(second, run, decisions=checkpoint.load(run)["decisions"] + 1)
    second.send_signal(signal.SIGINT)
    _, errors = ended(second, status=130)
    assert f"continue with: python train.py resume={run}" in errors
    assert_gone(labs)

    output, _ = train(f"resume={run}", "lab.workers=2")
    assert f"make export-weights RUN={run}" in output
    ended(whole)
    one, two = checkpoint.load(tmp_path / "whole"), checkpoint.load(run)
    assert one["decisions"] == two["decisions"] >= 1500
    assert one["sha256"] == two["sha256"]
    assert all(one["learner"]["critic"][name].equal(tensor) for name, tensor in two["learner"]["critic"].items())

    card = json.loads((run / "card.json").read_text())
    assert (card["status"], card["resumed"]) == ("finished", 2)
    assert card["lab"]["modules"].keys() == set(ALWAYS_LOADED)
    goodput = curves.read_metrics(run)["charts/goodput_mbps"]
    decisions = goodput.decisions.tolist()
    assert sorted(set(decisions)) == decisions, "updates after the checkpoint are in the curves twice"
    assert (goodput.values > 0.1).all()

    assert one["sampler"]["snapshots"] == two["sampler"]["snapshots"]
    if options:
        assert len(one["sampler"]["snapshots"]) == 2
