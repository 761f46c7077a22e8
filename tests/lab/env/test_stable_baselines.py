"""Stable-Baselines3's PPO, unmodified, learns on our environment."""

from __future__ import annotations

import numpy as np
import torch
from stable_baselines3 import PPO

from env.gym.ndm_env import NdmEnv

DECISIONS = 10240
SLOW = (1.0, -1.0)  # the mean action of the untrained policy: pacing wastes the link, and the window adds delay


def mean_reward(model: PPO, env: NdmEnv) -> float:
    """Return the mean reward of one episode of mean actions, without the first 40 decisions."""
    observation, _ = env.reset(seed=7)
    rewards, over = [], False
    while not over:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, _, over, _ = env.step(action)
        rewards.append(reward)
    return float(np.mean(rewards[40:]))


def test_library_ppo_learns_the_bottleneck() -> None:
    torch.set_num_threads(1)
    env = NdmEnv("bottleneck", episode_decisions=128)
    try:
        model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, learning_rate=1e-3, gamma=0.98, seed=1, device="cpu")
        # an action of 0 fills the link without a queue, so that nothing would be left to learn
        with torch.no_grad():
            model.policy.action_net.bias.copy_(torch.tensor(SLOW))
        before = mean_reward(model, env)
        model.learn(DECISIONS)
        after = mean_reward(model, env)
    finally:
        env.close()
    assert model.num_timesteps == DECISIONS
    assert before < 0.92, before
    assert after > 0.95, after  # neutral pacing alone gives 0.966
