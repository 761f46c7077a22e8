"""Trains PPO on the small worlds of toys.py."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from env.privileged import PRIVILEGED
from env.profile import load_profile
from env.trajectory import Trajectory
from tests.support.training.toys import PolicyRunner, ToyRolloutWorkers, ToyVector
from training.options import TrainConfig
from training.ppo import Ppo, PpoOptions
from training.sampling.rollout_sampler import RolloutSampler


def learn(env: ToyVector, options: PpoOptions, seed: int = 1) -> tuple[Ppo, list[Trajectory]]:
    torch.set_num_threads(1)
    workers = ToyRolloutWorkers(env, options.rollout_decisions)
    ppo = Ppo(options, seed, len(PRIVILEGED))
    config = TrainConfig(profile=load_profile("bottleneck"), algo=options)
    sampler = RolloutSampler(config, workers)
    while True:
        sampler.submit(ppo.behaviour(), ppo.progress.share)
        batch = sampler.take(lambda: False)
        assert batch is not None
        if ppo.decisions >= options.total_decisions:
            return ppo, batch.episodes
        ppo.update(batch)


def untrained(env: ToyVector, options: PpoOptions, seed: int = 1) -> tuple[Ppo, list[Trajectory]]:
    return learn(env, dataclasses.replace(options, total_decisions=0), seed)


def play_mean(ppo: Ppo, env: ToyVector) -> tuple[float, dict[str, float]]:
    """One episode of the mean actions: mean reward, and the environment's own figures over its last ten steps."""
    runner = PolicyRunner(ppo.policy.state_dict())
    observations, _ = env.reset(seed=1000)
    state = runner.initial_state(env.num_envs)
    rewards, figures = [], []
    for _ in range(env.horizon):
        actions, state = runner(observations, state)
        observations, reward, _, ended, infos = env.step(actions)
        rewards.append(reward.mean())
        figures.append({name: float(value.mean()) for name, value in infos.items() if name in ("share", "queue")})
        if ended.any():
            figures[-1] = figures[-2]  # infos describe the next episode already
    return float(np.mean(rewards)), {name: np.mean([f[name] for f in figures[-10:]]) for name in figures[0]}
