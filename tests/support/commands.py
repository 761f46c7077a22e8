"""The project's commands as processes: started, waited for, ended, and the processes that they leave."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from env.checkout import ROOT
from export import checkpoint

# A training of seconds, and the runs of a population.
SMALL = [
    *("profile=mixed", "debug=smoke", "checkpoint_every=1", "profile.episode_decisions=50", "profile.episode_s=5"),
    *("algo.total_decisions=1500", "algo.rollout_decisions=300", "algo.hidden=16"),
]
SMALL_POPULATION = ["profile=bottleneck", "debug=smoke", "lab.workers=1", "algo.total_decisions=1000"]
# A snapshot with each update, and rivals that are snapshots.
WITH_SNAPSHOTS = [
    *("profile=fair", "algo.snapshot_every=1", "algo.snapshots=2", "profile.paths.beside.rivals=[snapshot,cubic]"),
]


def start(*words: str, **environment: str) -> subprocess.Popen[str]:
    """Start Python in its own session: a signal to its group is then what Ctrl-C at a terminal is."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str], status: int = 0) -> tuple[str, str]:
    """Wait for the process, which must end with the status and no traceback; return its output and its errors."""
    output, errors = process.communicate(timeout=400)
    assert process.returncode == status, output + errors
    assert not status or "Traceback" not in errors, errors
    return output, errors


def run_python(*words: str, status: int = 0, **environment: str) -> tuple[str, str]:
    """Run Python, which must end with the status; return its output and its errors."""
    return ended(start(*words, **environment), status)


def train(*overrides: str, status: int = 0) -> tuple[str, str]:
    return run_python("train.py", *overrides, status=status)


def compare(*options: str, status: int = 0, **environment: str) -> tuple[str, str]:
    return run_python("compare.py", *options, status=status, **environment)


def descendants(process: subprocess.Popen[str]) -> list[int]:
    """Return the process ids of a process's descendants."""
    pids, parents = [], [process.pid]
    while parents:
        for children in Path(f"/proc/{parents.pop()}/task").glob("*/children"):
            pids_of_children = [int(word) for word in children.read_text().split()]
            pids += pids_of_children
            parents += pids_of_children
    return pids


def group_members(leader: int) -> list[int]:
    """Return the processes of a group that run; one that has ended and waits to be reaped does not."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(group) == leader and state not in "ZX":
            members.append(int(stat.parent.name))
    return members


def wait_for(process: subprocess.Popen[str], *runs: Path, decisions: int = 1) -> list[int]:
    """Wait until each run has a checkpoint of so many decisions; return the process's descendants."""

    def is_saved(run: Path) -> bool:
        return (run / "checkpoint.pt").exists() and checkpoint.load(run)["decisions"] >= decisions

    wait_until(process, lambda: all(map(is_saved, runs)), f"no checkpoint of {decisions} decisions")
    return descendants(process)


def wait_until(
    process: subprocess.Popen[str], condition: Callable[[], bool], failure: str, seconds: float = 300
) -> None:
    """Wait until the condition holds, while the process runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{failure} within {seconds} s"
        time.sleep(0.05)


def assert_gone(pids: list[int]) -> None:
    """Wait until none of the processes, of which there must be some, exists."""
    assert pids
    deadline = time.monotonic() + 10  # init reaps the guests' own processes
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.1)


def assert_group_gone(leader: int) -> None:
    """Wait until no process of the group runs."""
    deadline = time.monotonic() + 10
    while left := group_members(leader):
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.05)


def statuses(folder: Path) -> dict[str, str]:
    """Return the status of each run of a population."""
    return {card.parent.name: json.loads(card.read_text())["status"] for card in sorted(folder.glob("*/card.json"))}


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a comparison's runs."""
    files = sorted(file for file in (folder / "runs").rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
