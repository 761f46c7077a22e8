"""train.py as a process: started, waited for, ended, and the labs that it boots."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from env.checkout import ROOT
from export import checkpoint

# A training of seconds, and the runs of a population.
SMALL = [
    *("profile=mixed", "debug=smoke", "checkpoint_every=1", "profile.episode_decisions=50", "profile.episode_s=5"),
    *("algo.total_decisions=1500", "algo.rollout_decisions=300", "algo.hidden=16"),
]
SMALL_POPULATION = ["profile=bottleneck", "debug=smoke", "lab.workers=1", "algo.total_decisions=1000"]
# All that a batch may be drawn from besides: a contest and a snapshot with each update, rivals that are snapshots.
DRAWN_FROM = [
    *("profile=fair", "curriculum=genet", "curriculum.every=1", "curriculum.schemes=[bbr,nv]"),
    *("algo.snapshot_every=1", "algo.snapshots=2", "profile.paths.beside.rivals=[snapshot,cubic]"),
]


def start(*overrides: str) -> subprocess.Popen[str]:
    """Start train.py in its own session: a signal to its group is then what Ctrl-C at a terminal is."""
    return subprocess.Popen(
        [sys.executable, "train.py", *overrides],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def labs_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the process ids of a process's descendants."""
    found, parents = [], [process.pid]
    while parents:
        pid = parents.pop()
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            pids = [int(word) for word in children.read_text().split()]
            found += pids
            parents += pids
    return found


def wait_for(process: subprocess.Popen[str], *runs: Path, decisions: int = 1) -> list[int]:
    """Wait until each run has a checkpoint of so many decisions; return the process's labs."""
    deadline = time.monotonic() + 300
    while not all((run / "checkpoint.pt").exists() and checkpoint.load(run)["decisions"] >= decisions for run in runs):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"no checkpoint of {decisions} decisions within 300 s"
        time.sleep(0.05)
    return labs_of(process)


def assert_gone(labs: list[int]) -> None:
    """Wait until none of the processes, of which there must be some, exists."""
    assert labs
    deadline = time.monotonic() + 10  # the guests' own processes are buried by init
    while left := [pid for pid in labs if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)


def ended(process: subprocess.Popen[str], status: int = 0) -> tuple[str, str]:
    """Wait for the process, which must end with the status; return what it printed: output, errors."""
    output, errors = process.communicate(timeout=400)
    assert process.returncode == status, errors
    return output, errors


def statuses(folder: Path) -> dict[str, str]:
    """Return the status of each run of a population."""
    return {card.parent.name: json.loads(card.read_text())["status"] for card in sorted(folder.glob("*/card.json"))}
