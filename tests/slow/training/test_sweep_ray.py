"""python train.py -m hydra/launcher=ray: whole runs on a cluster, which the command starts or finds."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from export import checkpoint
from tests.support.commands import SMALL_POPULATION, ended, run_python, start, statuses, train, wait_for, wait_until

pytestmark = pytest.mark.timeout(900)
RAY = ["-m", "hydra/launcher=ray", *SMALL_POPULATION, "name=p", "seed=1,2"]


def test_interrupted_runs_save_themselves_and_continue(tmp_path: Path, cluster: Any) -> None:
    """The runs start a cluster and do not use the one that runs already, which ends."""
    folder = tmp_path / "p"
    # the first run is far from its end when the second, which may start seconds later, has a checkpoint
    options = [*RAY, f"runs={tmp_path}", "algo.total_decisions=60000", "algo.rollout_decisions=3000"]
    process = start("train.py", *options)
    wait_until(process, lambda: len(statuses(folder)) == 2, "a run has not begun")
    cluster.shutdown()
    wait_for(process, folder / "p-1", folder / "p-2")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = ended(process, status=130)
    assert "the same command continues" in errors
    assert statuses(folder) == {"p-1": "interrupted", "p-2": "interrupted"}
    before = {run: checkpoint.load(folder / run)["decisions"] for run in ("p-1", "p-2")}
    output, errors = train(*options)
    assert statuses(folder) == {"p-1": "finished", "p-2": "finished"}
    assert all(checkpoint.load(folder / run)["decisions"] > decisions for run, decisions in before.items())
    assert "seed=2" in errors, "the end of a run is not reported"
    assert (folder / "population.md").read_text() in output


def test_failed_run_on_running_cluster_is_named(tmp_path: Path, cluster: Any) -> None:
    (tmp_path / "p" / "p-1").mkdir(parents=True)
    words = [*RAY, f"runs={tmp_path}", f"hydra.launcher.address={cluster.address}"]
    output, errors = train(*words, status=1)
    assert "1 of 2 runs failed" in errors
    assert "p-1 exists, but has no checkpoint" in errors
    assert "| p-2 | 2 | finished |" in output
    _, errors = train(*words, "lab.workers=64", status=1)
    assert "a run takes lab.workers=64 cores, but the largest node of the cluster has 1" in errors
    _, errors = train(*RAY, f"runs={tmp_path}", "hydra.launcher.address=127.0.0.1:1", status=1)
    assert "the Ray cluster 127.0.0.1:1 cannot be reached" in errors


def test_missing_ray_is_an_error_with_remedy(tmp_path: Path) -> None:
    hidden = (
        "import runpy, sys; sys.modules['ray'] = None; del sys.argv[0]; runpy.run_path('train.py', None, '__main__')"
    )
    _, errors = run_python("-c", hidden, "train.py", *RAY, f"runs={tmp_path}", status=1)
    assert "run `make ray`" in errors
