"""python train.py -m: populations of runs, which continue, fail and are interrupted."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from export import checkpoint
from tests.support.commands import SMALL_POPULATION, assert_gone, ended, start, statuses, train, wait_for

pytestmark = pytest.mark.timeout(900)


def test_population_is_trained_once(tmp_path: Path) -> None:
    words = ["-m", *SMALL_POPULATION, f"runs={tmp_path}", "name=p", "seed=1,2"]
    output, _ = train(*words, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert output.count("is trained\n") == 2
    assert statuses(tmp_path / "p") == {"p-1": "finished", "p-2": "finished"}
    saved = [checkpoint.load(tmp_path / "p" / f"p-{seed}") for seed in (1, 2)]
    assert len({one["sha256"] for one in saved}) == 2
    assert [one["config"]["seed"] for one in saved] == [1, 2]
    table = (tmp_path / "p" / "population.md").read_text()
    assert table in output
    assert all(f"| p-{seed} | {seed} | finished |" in table for seed in (1, 2))
    assert (tmp_path / "p" / "population.png").stat().st_size > 10_000
    output, _ = train(*words)
    assert output.count("is trained already") == 2
    assert table in output
    output, errors = train(*words, "algo.gamma=0.9", status=1)
    assert "2 of 2 runs failed" in errors
    assert "algo.gamma was 0.98, and is 0.9 now" in errors
    (tmp_path / "p-1").symlink_to(tmp_path / "p" / "p-1")
    _, errors = train("-m", *SMALL_POPULATION, f"runs={tmp_path}", "name=p-1", "seed=1", status=1)
    assert "p-1 is a run, not a population" in errors
    assert "without -m" in train("-m", f"resume={tmp_path / 'p' / 'p-1'}", status=1)[1]


def test_failed_run_is_named_and_interrupted_run_continues(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    (folder / "p-1").mkdir(parents=True)
    longer = [*SMALL_POPULATION, "algo.total_decisions=6000"]  # than it takes to see that it runs
    words = ["-m", *longer, f"runs={tmp_path}", "name=p", "seed=1,2"]
    process = start("train.py", *words)
    labs = wait_for(process, folder / "p-2")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = ended(process, status=130)
    assert "the same command continues" in errors
    assert_gone(labs)
    assert statuses(folder) == {"p-2": "interrupted"}
    output, errors = train(*words, status=1)
    assert "1 of 2 runs failed" in errors
    assert "p-1 exists, but has no checkpoint" in errors
    assert "| p-2 | 2 | finished |" in output
    train(*longer, f"runs={tmp_path}", "name=alone", "seed=2")
    assert checkpoint.load(folder / "p-2")["sha256"] == checkpoint.load(tmp_path / "alone")["sha256"]
