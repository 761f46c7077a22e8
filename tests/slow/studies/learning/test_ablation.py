"""The ablation study in the lab: variants of a training side by side, each trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from export import checkpoint
from studies.learning.ablation import main


@pytest.mark.timeout(900)
def test_variants_are_trained_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [str(tmp_path / "runs"), "--seeds", "1", "--common", "profile=bottleneck", "debug=smoke"]
    # with almost no exploration, the rewards are those of the policy
    words += ["algo.initial_std=0.05", "algo.final_std=0.05", "algo.hidden=16", "algo.total_decisions=500"]
    words += ["lab.timeout_s=250"]
    words += ["--variant", "plain", "--variant", "started", "algo.start=datasets/models/mixed"]
    assert main(words) == 0
    first = capfd.readouterr()
    head, _, *rows = [line.split(" | ") for line in first.out.splitlines() if line.startswith("| ")]
    plain, started = (float(row[head.index("reward, first third")]) for row in rows[:2])
    assert started != plain, "it begins with the weights of mixed"
    beside = (tmp_path / "runs" / "side_by_side.md").read_text()
    assert beside in first.out
    assert [row.split(" | ")[0] for row in beside.splitlines()[2:]] == ["| plain", "| started"]
    assert (tmp_path / "runs" / "ablation.png").stat().st_size > 10_000
    run = checkpoint.load(tmp_path / "runs" / "started" / "started-1")
    assert run["config"]["algo"]["start"] == "datasets/models/mixed"
    assert main(words) == 0
    again = capfd.readouterr()
    assert first.out.endswith(again.out), "the same table"
    assert again.err.count("is trained already") == 2, "runs that are done are not made again"
