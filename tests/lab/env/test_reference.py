"""The reward: the environment and the rollouts for PPO compute the same one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from env.gym.ndm_env import NdmEnv
from env.lab import Lab
from env.profile import profile_from_config
from env.rollout import RolloutTask, run_episode
from env.trajectory import trajectories
from export.formats.model_file import model_file
from tests.support.labs import shared_lab
from training.policy import initial_policy

DECISIONS = 80
BOTTLENECK: dict[str, Any] = {"rate_mbps": {"fixed": 20}, "rtt_ms": {"fixed": 40}}
# three kinds of change: the rate, other flows, a recorded link
PROFILE = profile_from_config(
    {
        "name": "changing",
        "episode_decisions": DECISIONS,
        "reward": {"fairness": 0.7},
        "paths": {
            "stepped": BOTTLENECK | {"rate_step": {"uniform": [0.3, 0.6]}, "rate_steps": {"fixed": 2}},
            "staggered": BOTTLENECK
            | {"learners": {"fixed": 3}, "rivals": ["cubic", "nv"], "rival_count": {"fixed": 3}, "start_spread_s": 4}
            | {"extra_rtt_ratio": {"fixed": 0.5}, "reward": {"delay": 0.1}},
            "traced": {"rtt_ms": {"fixed": 40}, "traces": ["train/lte-driving"]}
            | {"rivals": ["cubic"], "rival_chance": 0.5, "start_spread_s": 4},
        },
    }
)


lab = shared_lab()


def test_environment_and_rollout_rewards_are_equal(lab: Lab) -> None:
    model, _ = model_file(initial_policy(8, 1).state_dict(), "m", PROFILE.name)
    components = set()
    with NdmEnv(PROFILE) as env:
        for seed in range(1, 9):
            env.reset(seed=seed)
            config = env.episode.config
            if config.component in components:
                continue
            components.add(config.component)
            noise = exploration(seed)
            steps = run_episode(lab, RolloutTask(model, config, seed, noise, DECISIONS, PROFILE.episode_s))
            (rollout,) = trajectories(steps, config, PROFILE.reward)
            assert len(rollout.rewards) == DECISIONS
            for k, action in enumerate(rollout.actions):
                _, reward, _, _, info = env.step(action)
                assert np.float32(reward) == rollout.rewards[k], (config.component, k)
                for name, values in rollout.infos.items():
                    if name != "now_us":  # since the run's start, or since the lab's
                        assert info[name] == pytest.approx(values[k], rel=1e-9, abs=1e-12), (name, k)
            share = rollout.infos["goodput_share"] / rollout.infos["goodput_mbps"]
            assert share.max() > 1.2 * share.min(), "the reference did not change in the episode"
    assert components == {"stepped", "staggered", "traced"}


def exploration(seed: int) -> npt.NDArray[np.int16]:
    """Return noise that moves the window: [1, DECISIONS, 2]."""
    return np.random.default_rng(seed).integers(-6000, 7000, (1, DECISIONS, 2)).astype(np.int16)
