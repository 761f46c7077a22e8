"""Every learner: what a short run writes, and that two files make another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from env.checkout import BUILD, DATASETS, KERNEL, ROOT
from export import checkpoint
from export.pipeline import build_model
from training import loop
from training.config import LEARNERS
from training.run_folder import curves

NEW = """# python train.py profile=bottleneck algo=reinforce
# REINFORCE: the policy gradient of whole episodes, without a critic.
defaults:
  - /learner/reinforce@_here_
"""


def call(*words: str, checkout: Path = ROOT) -> None:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_a_run_writes_the_metrics_of_its_table(tmp_path: Path, kind: str) -> None:
    call("train.py", f"algo={kind}", "profile=mixed", "debug=smoke", f"runs={tmp_path}", "name=run")
    written = set(curves.read_metrics(tmp_path / "run"))
    table = [*LEARNERS[kind].METRICS, *loop.METRICS]
    assert [name for name in written if not any(metric.covers(name) for metric in table)] == []
    assert [metric.name for metric in table if not any(metric.covers(name) for name in written)] == []


def test_two_files_make_a_learner(tmp_path: Path) -> None:
    """It trains, resumes to the bit, can be exported, and is in the documentation."""
    for folder in ("compare", "configs", "env", "export", "studies", "training"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "train.py", tmp_path)
    for folder in (BUILD, DATASETS, KERNEL):
        (tmp_path / folder.name).symlink_to(folder)
    shutil.copy(ROOT / "tests" / "support" / "training" / "reinforce.py", tmp_path / "training")
    (tmp_path / "configs" / "algo" / "reinforce.yaml").write_text(NEW)

    small = ("train.py", "algo=reinforce", "profile=bottleneck", "debug=smoke", "runs=runs")
    call(*small, "name=whole", checkout=tmp_path)
    call(*small, "name=parts", "algo.total_decisions=1000", checkout=tmp_path)
    call("train.py", "resume=runs/parts", "algo.total_decisions=2000", checkout=tmp_path)
    whole, parts = tmp_path / "runs" / "whole", tmp_path / "runs" / "parts"
    assert checkpoint.load(whole)["sha256"] == checkpoint.load(parts)["sha256"]
    rewards = curves.read_metrics(whole)["charts/reward"].values
    assert len(rewards) == 4
    # an untrained policy gets 0.97 on this link already, so that few rounds show no rise
    assert rewards.min() > 0.9
    call(*small, "name=untrained", "algo.total_decisions=0", checkout=tmp_path)
    untrained, trained = build_model(tmp_path / "runs" / "untrained"), build_model(whole)
    assert trained.provenance.decisions == 2000
    assert (trained.model.v != untrained.model.v).any()

    call("-m", "studies.reference", checkout=tmp_path)
    reference = tmp_path / "docs" / "reference"
    assert "`algo.std` | `0.2` | exploration" in (reference / "options.md").read_text()
    assert "`algo=reinforce` | REINFORCE: the policy gradient" in (reference / "options.md").read_text()
    assert "## REINFORCE, `algo.kind=reinforce`" in (reference / "metrics.md").read_text()
