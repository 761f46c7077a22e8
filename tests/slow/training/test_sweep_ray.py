"""python train.py -m hydra/launcher=ray: whole runs on a cluster, started for them or running already."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from env.checkout import ROOT
from export import checkpoint
from tests.support.training_command import SMALL_POPULATION, ended, start, statuses, wait_for

pytestmark = pytest.mark.timeout(900)
RAY = ["-m", "hydra/launcher=ray", *SMALL_POPULATION, "name=p", "seed=1,2"]


def test_stopped_on_a_cluster_of_its_own_all_runs_save_themselves_and_go_on(tmp_path: Path, cluster: Any) -> None:
    """Another that runs here is left alone: its end does not matter."""
    folder = tmp_path / "p"
    process = start(*RAY, f"runs={tmp_path}", "algo.total_decisions=40000")
    wait_for(process, folder / "p-1", folder / "p-2")
    cluster.shutdown()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = ended(process, status=130)
    assert "the same command continues" in errors
    assert "Traceback" not in errors
    assert statuses(folder) == {"p-1": "interrupted", "p-2": "interrupted"}
    before = {run: checkpoint.load(folder / run)["decisions"] for run in ("p-1", "p-2")}
    output, errors = ended(start(*RAY, f"runs={tmp_path}", "algo.total_decisions=40000"))
    assert statuses(folder) == {"p-1": "finished", "p-2": "finished"}
    assert all(checkpoint.load(folder / run)["decisions"] > decisions for run, decisions in before.items())
    assert "seed=2" in errors, "each run that ends is told"
    assert (folder / "population.md").read_text() in output


def test_on_a_running_cluster_a_failed_run_is_named_and_the_others_are_kept(tmp_path: Path, cluster: Any) -> None:
    (tmp_path / "p" / "p-1").mkdir(parents=True)
    words = [*RAY, f"runs={tmp_path}", f"hydra.launcher.address={cluster.address}"]
    output, errors = ended(start(*words), status=1)
    assert "1 of 2 runs failed" in errors
    assert "p-1 exists, but has no checkpoint" in errors
    assert "Traceback" not in errors
    assert "| p-2 | 2 | finished |" in output
    _, errors = ended(start(*words, "lab.workers=64"), status=1)
    assert "a run takes lab.workers=64 cores, but the largest node of the cluster has 1" in errors
    _, errors = ended(start(*RAY, f"runs={tmp_path}", "hydra.launcher.address=127.0.0.1:1"), status=1)
    assert "the Ray cluster 127.0.0.1:1 cannot be reached" in errors
    assert "Traceback" not in errors


def test_without_ray_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    hidden = (
        "import runpy, sys; sys.modules['ray'] = None; del sys.argv[0]; runpy.run_path('train.py', None, '__main__')"
    )
    command = [sys.executable, "-c", hidden, "train.py", *RAY, f"runs={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "run `make ray`" in done.stderr
    assert "Traceback" not in done.stderr
