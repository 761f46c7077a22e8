"""The joint score along a small training: its files, and that only missing milestones are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.command.progress import terminal
from compare.errors import CompareError
from export.checkpoint import FILE_NAME, load, policy_sha256
from studies.learning.training_score import best_of, score_training
from tests.support.commands import SMALL as SMALL_TRAINING
from tests.support.commands import train
from tests.support.small_target import SMALL
from training.run_folder.curves import read_metrics


def test_each_milestone_has_a_score(tmp_path: Path) -> None:
    train(*SMALL_TRAINING, "name=small", f"runs={tmp_path}", "milestones=2")
    run = tmp_path / "small"
    milestones = sorted(folder.name for folder in (run / "milestones").iterdir())
    assert len(milestones) == 2
    assert policy_sha256(load(run / "milestones" / milestones[-1])["policy"]) == policy_sha256(load(run)["policy"])
    rows = score_training(run, 1, terminal(), target=SMALL)
    assert [int(row[0]) for row in rows] == [int(name) for name in milestones]
    # one requirement: the score is what it adds
    assert all(-1 <= row[1] == row[-1] <= 0.25 for row in rows)
    text = (run / "score" / "scores.csv").read_text()
    assert text.startswith("decisions,score,lo,hi,idle\n")
    best = f"{int(best_of(rows)[0]):09d}"
    assert (run / "score" / "best" / FILE_NAME).read_bytes() == (run / "milestones" / best / FILE_NAME).read_bytes()
    assert read_metrics(run / "score")["score/joint"].values.size == 2
    assert (run / "score" / "score.png").stat().st_size > 1000

    # the stored scores are kept, and only the missing one is measured
    (run / "score" / "scores.csv").write_text("".join(text.splitlines(keepends=True)[:2]))
    again = score_training(run, 1, terminal(), target=SMALL)
    assert [row[1] for row in again] == pytest.approx([row[1] for row in rows], abs=1e-4)  # the file has four digits
    (run / "score" / "scores.csv").write_text("decisions,score\n")
    with pytest.raises(CompareError, match="has other columns than decisions, score, lo, hi, idle"):
        score_training(run, 1, terminal(), target=SMALL)


def test_a_run_without_milestones_says_so(tmp_path: Path) -> None:
    with pytest.raises(CompareError, match="has no milestones: train with milestones=10"):
        score_training(tmp_path, 1, terminal(), target=SMALL)
