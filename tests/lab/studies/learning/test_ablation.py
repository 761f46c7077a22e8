"""The ablation study in the lab: variants of a training side by side, each trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.profile import load_profile
from export import checkpoint
from studies.learning.ablation import main
from tests.support.labs import lab_pool
from training.experts.recorder import draw, find_experts, provenance_of, record
from training.experts.recording import Recording, write


@pytest.mark.timeout(900)
def test_variants_are_trained_once_and_warm_start_helps(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    profile = load_profile("bottleneck")
    profile.episode_decisions = 100
    experts = find_experts(["bbr"])
    episodes = draw(profile, 2, 1)
    facts = provenance_of(profile, experts, episodes, 1)
    file = tmp_path / "experts.parquet"
    with lab_pool(2) as pool:
        write(file, Recording(episodes, record(profile, experts, episodes, pool), facts))
    words = [str(tmp_path / "runs"), "--seeds", "1", "--common", "profile=bottleneck", "debug=smoke"]
    # with almost no exploration, the rewards are those of the policy
    words += ["algo.initial_std=0.05", "algo.final_std=0.05", "algo.hidden=16", "algo.total_decisions=500"]
    words += ["lab.timeout_s=250"]
    words += ["--variant", "plain", "--variant", "warm", f"algo.imitate={file}", "algo.imitate_steps=800"]
    assert main(words) == 0
    first = capfd.readouterr()
    assert "imitation: bbr on 2 episodes" in first.err
    head, _, *rows = [line.split(" | ") for line in first.out.splitlines() if line.startswith("| ")]
    plain, warm = (float(row[head.index("reward, first third")]) for row in rows[:2])
    assert warm > plain + 0.1, "the warm start does not begin with the expert's decisions"
    beside = (tmp_path / "runs" / "side_by_side.md").read_text()
    assert beside in first.out
    assert [row.split(" | ")[0] for row in beside.splitlines()[2:]] == ["| plain", "| warm"]
    assert (tmp_path / "runs" / "ablation.png").stat().st_size > 10_000
    assert checkpoint.load(tmp_path / "runs" / "warm" / "warm-1")["config"]["algo"]["imitate"] == str(file)
    assert main(words) == 0
    again = capfd.readouterr()
    assert first.out.endswith(again.out), "the same table"
    assert again.err.count("is trained already") == 2, "runs that are done are not made again"
