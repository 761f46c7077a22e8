"""train.py on the real lab: a small run, Ctrl-C, resumption; nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from training import checkpoint, curves

ROOT = Path(__file__).parents[2]
SMALL = ["profile=bottleneck", "debug=smoke", "algo.rollout_decisions=200", "checkpoint_every=1"]

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


def test_interrupt_and_resume(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = start(*SMALL, f"runs={tmp_path}", "name=run", "algo.total_decisions=1000000")
    deadline = time.monotonic() + 90
    while not (run / "checkpoint.pt").exists() or checkpoint.load(run)["decisions"] < 400:
        assert first.poll() is None, first.communicate()[1]
        assert time.monotonic() < deadline, "no checkpoint within 90 s"
        time.sleep(0.5)
    labs = labs_of(first)
    assert labs
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=30)
    assert first.returncode == 130, errors
    assert f"go on with: python train.py resume={run}" in errors
    deadline = time.monotonic() + 5  # the guests' own processes are buried by init
    while left := [pid for pid in labs if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)
    stopped = checkpoint.load(run)["decisions"]
    assert stopped >= 400

    second = start(f"resume={run}", f"algo.total_decisions={stopped + 400}")
    output, errors = second.communicate(timeout=120)
    assert second.returncode == 0, errors
    assert f"make export-weights RUN={run}" in output
    assert checkpoint.load(run)["decisions"] == stopped + 400
    decisions, goodput = curves.read_metric(run, "charts/goodput_mbps")
    assert decisions[-1] == stopped + 400
    assert (goodput[1:] > 0.1).all()
    assert (goodput < 20).all()
