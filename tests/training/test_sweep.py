"""python train.py -m: several runs of one command, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.test_train_lab import start
from training import checkpoint

pytestmark = pytest.mark.lab


def test_two_seeds_side_by_side_are_two_runs(tmp_path: Path) -> None:
    options = ["profile=bottleneck", "debug=smoke", "lab.workers=1", "seed=1,2", f"runs={tmp_path}"]
    process = start("-m", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", *options)
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert output.count("is trained") == 2
    runs = sorted(file.parent for file in tmp_path.glob("*/checkpoint.pt"))
    assert [run.name[-3:] for run in runs] == ["-s1", "-s2"]
    assert [json.loads((run / "card.json").read_text())["status"] for run in runs] == ["finished"] * 2
    assert len({checkpoint.load(run)["sha256"] for run in runs}) == 2
