"""train.py on the real lab: interrupted, killed and resumed, it ends as if nothing had been; nothing is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from env.checkout import ROOT
from export import checkpoint
from training.curriculum import cases
from training.run_folder import curves

SMALL = [
    *("profile=mixed", "debug=smoke", "checkpoint_every=1", "profile.episode_decisions=50", "profile.episode_s=5"),
    *("algo.total_decisions=1500", "algo.rollout_decisions=300", "algo.hidden=16"),
]
# All that a batch may be drawn from besides: a contest and a snapshot with each update, rivals that are snapshots.
DRAWN_FROM = [
    *("profile=fair", "curriculum=genet", "curriculum.every=1", "curriculum.schemes=[bbr,nv]"),
    *("algo.snapshot_every=1", "algo.snapshots=2", "profile.paths.beside.rivals=[snapshot,cubic]"),
]

pytestmark = pytest.mark.lab


def start(*overrides: str) -> subprocess.Popen[str]:
    # a session of its own, so that a signal to its group is what Ctrl-C at a terminal is
    return subprocess.Popen(
        [sys.executable, "train.py", *overrides],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def labs_of(process: subprocess.Popen[str]) -> list[int]:
    """Process ids of the children of a process, and of theirs."""
    found, parents = [], [process.pid]
    while parents:
        pid = parents.pop()
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            pids = [int(word) for word in children.read_text().split()]
            found += pids
            parents += pids
    return found


def wait_for(process: subprocess.Popen[str], run: Path, decisions: int) -> list[int]:
    """Wait for a checkpoint of so many decisions; return the process's labs."""
    deadline = time.monotonic() + 200
    while not (run / "checkpoint.pt").exists() or checkpoint.load(run)["decisions"] < decisions:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"no checkpoint of {decisions} decisions within 200 s"
        time.sleep(0.05)
    return labs_of(process)


def assert_gone(labs: list[int]) -> None:
    assert labs
    deadline = time.monotonic() + 10  # the guests' own processes are buried by init
    while left := [pid for pid in labs if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)


@pytest.mark.parametrize("options", [[], DRAWN_FROM], ids=["plain", "curriculum and snapshots"])
def test_killed_and_interrupted_run_is_the_uninterrupted_one(tmp_path: Path, options: list[str]) -> None:
    """Killed after one update, Ctrl-C after another, at whatever decision that is, then resumed with two workers."""
    whole = start(*SMALL, *options, f"runs={tmp_path}", "name=whole")
    run = tmp_path / "parts"
    first = start(*SMALL, *options, f"runs={tmp_path}", "name=parts")
    labs = wait_for(first, run, 1)
    time.sleep(np.random.default_rng().uniform(0, 0.3))
    first.kill()
    first.communicate()
    assert_gone(labs)

    second = start(f"resume={run}")
    labs = wait_for(second, run, checkpoint.load(run)["decisions"] + 1)
    second.send_signal(signal.SIGINT)
    _, errors = second.communicate(timeout=120)
    assert second.returncode == 130, errors
    assert f"go on with: python train.py resume={run}" in errors
    assert_gone(labs)

    third = start(f"resume={run}", "lab.workers=2")
    output, errors = third.communicate(timeout=120)
    assert third.returncode == 0, errors
    assert f"make export-weights RUN={run}" in output
    _, errors = whole.communicate(timeout=120)
    assert whole.returncode == 0, errors
    one, two = checkpoint.load(tmp_path / "whole"), checkpoint.load(run)
    assert one["decisions"] == two["decisions"] >= 1500
    assert one["sha256"] == two["sha256"]
    assert all(one["critic"][name].equal(tensor) for name, tensor in two["critic"].items())

    card = json.loads((run / "card.json").read_text())
    assert (card["status"], card["resumed"]) == ("finished", 2)
    contests = {"tcp_expert"} if options else set()
    assert card["lab"]["modules"].keys() == {"tcp_ndm_gym", "lab_gate", "sch_linktrace", *contests}
    decisions, goodput = curves.read_metric(run, "charts/goodput_mbps")
    assert sorted(set(decisions)) == decisions.tolist(), "what came after a checkpoint that was lost is not drawn"
    assert (goodput > 0.1).all()

    assert one["batches"]["snapshots"] == two["batches"]["snapshots"]
    assert one["batches"]["curriculum"]["hard"] == two["batches"]["curriculum"]["hard"]
    if options:
        assert len(one["batches"]["snapshots"]) == 2
        chosen = [(tmp_path / name / cases.FILE_NAME).read_text() for name in ("whole", "parts")]
        assert chosen[0] == chosen[1] != ""
        assert [case["gap"] for case in card["hard_cases"]] == [
            round(case["theirs"] - case["ours"], 4) for case in two["batches"]["curriculum"]["hard"]
        ]
