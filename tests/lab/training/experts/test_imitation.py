"""A policy that imitates an expert, in the lab."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from env.profile import load_profile
from env.rollout import RolloutJob, RolloutTask
from export.checkpoint import policy_sha256
from export.formats.blob import write_blob
from export.integer.model import Provenance
from export.integer.quantize import FloatPolicy, quantize
from tests.support.labs import lab_pool
from training.experts.imitation import warm_start
from training.experts.recorder import draw, find_experts, provenance_of, record
from training.experts.recording import Recording, write
from training.policy import initial_policy


@pytest.mark.usefixtures("one_thread")
def test_clone_earns_more_than_an_untrained_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = load_profile("bottleneck")
    profile.episode_decisions = 120
    experts = find_experts(["bbr", "reno"])
    episodes = draw(profile, 4, 1)
    made_of = provenance_of(profile, experts, episodes, 1)
    file = tmp_path / "experts.parquet"
    with lab_pool(2) as pool:
        write(file, Recording(episodes, record(profile, experts, episodes, pool), made_of))
    cloned = initial_policy(8, 1)
    progress = warm_start(cloned, file, profile.reward, best_only=True, steps=800, weight_limit=8.0, seed=1)
    assert progress.held_out[progress.best] < 0.2 * progress.held_out[0]
    assert "imitation: bbr on 4 episodes; squared error on held-out episodes" in capsys.readouterr().err
    silence = np.zeros((0, 0, 2), np.int16)
    rewards = []
    with lab_pool() as pool:
        for policy in (initial_policy(8, 1), cloned):
            state = policy.state_dict()
            provenance = Provenance("test", "bottleneck", policy_sha256(state), "none", 0)
            model = write_blob(quantize(FloatPolicy.from_state_dict(state)), provenance)
            task = RolloutTask(model, episodes[0].episode_config, 9, silence, 120, 60.0)
            [trajectory] = pool.submit([RolloutJob(task, profile.reward)])[0].result().trajectories
            rewards.append(float(trajectory.rewards.mean()))
    untrained, clone = rewards
    assert clone > untrained + 0.1
