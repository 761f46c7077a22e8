"""What a batch is drawn from: its seed and number, and its sampling state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from env.lab import VirtualLab
from env.pool import LabPool
from env.profile import PathSampler, load_profile, profile_from_config
from env.rollout import RolloutJob, RolloutTask
from training.policy import initial_policy
from training.sampling.rollouts import LabRolloutWorkers, SamplingState

WEIGHTS = initial_policy(8, 1).state_dict()


class Asked(LabPool):
    """Labs that only note what they are asked for."""

    def __init__(self) -> None:
        super().__init__(1, partial(VirtualLab, seed=1))
        self.tasks: list[list[RolloutTask]] = []

    def submit(self, jobs: Sequence[RolloutJob]) -> list[Future[Any]]:
        self.tasks.append([job.task for job in jobs])
        return []


def asked(name: str, *bases: SamplingState, batch: int = 2, decisions: int = 60_000) -> Asked:
    labs = Asked()
    workers = LabRolloutWorkers(load_profile(name), labs, 7, decisions)
    for sampling_state in bases:
        workers.submit(WEIGHTS, torch.zeros(2), batch, sampling_state)
    return labs


def same(one: Sequence[RolloutTask], other: Sequence[RolloutTask]) -> bool:
    return len(one) == len(other) and all(
        a._replace(noise=b.noise) == b and np.array_equal(a.noise, b.noise) for a, b in zip(one, other, strict=True)
    )


def test_sampling_state_decides_skipped_slow_starts() -> None:
    chances = (0.0, 0.25, 1.0)
    for name in ("mixed", "fair"):
        states = [SamplingState(skip_slow_start_prob=chance) for chance in chances]
        for tasks, chance in zip(asked(name, *states, decisions=200_000).tasks, chances, strict=True):
            learners = sum(len(task.episode_config.learners) for task in tasks)
            assert all(set(task.skip_slow_start) <= set(range(len(task.episode_config.learners))) for task in tasks)
            assert sum(len(task.skip_slow_start) for task in tasks) == pytest.approx(
                chance * learners, abs=0.07 * learners
            )


def test_batch_is_a_function_of_number_and_state() -> None:
    hard = tuple(PathSampler(load_profile("fair")).draw(np.random.default_rng(n)) for n in range(3))
    bases = [
        SamplingState(),
        SamplingState(0.4),
        SamplingState(1.0, hard, 0.3, 1.3),
        SamplingState(snapshots=(b"old", b"older")),
    ]
    one, other = asked("fair", *bases), asked("fair", *bases)
    for a, b in zip(one.tasks, other.tasks, strict=True):
        assert same(a, b)
    for i, tasks in enumerate(one.tasks):
        assert not any(same(tasks, others) for others in one.tasks[:i])
    assert not same(asked("fair", SamplingState(), batch=4).tasks[0], one.tasks[0])


def test_a_share_is_drawn_around_hard_configs() -> None:
    profile = profile_from_config(
        {"name": "x", "paths": {"a": {"rate_mbps": {"log_uniform": [1, 100]}, "rtt_ms": {"log_uniform": [20, 200]}}}}
    )
    sampler, rng = PathSampler(profile), np.random.default_rng(0)
    hard = (sampler.draw(rng), sampler.draw(rng))
    labs = Asked()
    LabRolloutWorkers(profile, labs, 1, 256 * 1000).submit(
        WEIGHTS, torch.zeros(2), 0, SamplingState(1.0, hard, 0.3, 1.02)
    )
    near = Counter(
        number
        for task in labs.tasks[0]
        for number, episode_config in enumerate(hard)
        if abs(np.log(task.episode_config.path.rate_mbps / episode_config.path.rate_mbps)) < np.log(1.021)
        and abs(np.log(task.episode_config.path.rtt_ms / episode_config.path.rtt_ms)) < np.log(1.021)
    )
    assert 0.24 < near.total() / 1000 < 0.36
    assert min(near[0], near[1]) > 100
    assert len({task.seed for task in labs.tasks[0]}) == 1000


def test_episode_with_snapshot_rival_gets_a_snapshot() -> None:
    labs = asked("fair", SamplingState(), SamplingState(snapshots=(b"one", b"two")), decisions=200_000)
    for tasks, files in zip(labs.tasks, ({labs.tasks[0][0].model}, {b"one", b"two"}), strict=True):
        assert {task.snapshot for task in tasks if task.episode_config.has_snapshot} == files
        assert {task.snapshot for task in tasks if not task.episode_config.has_snapshot} == {b""}


@pytest.mark.parametrize("name", ["mixed", "fair"])
def test_sampling_state_survives_writing_and_reading(name: str) -> None:
    sampler, rng = PathSampler(load_profile(name), snapshots=True), np.random.default_rng(0)
    sampling_state = SamplingState(0.5, tuple(sampler.draw(rng) for _ in range(20)), 0.3, 1.3, (b"a", b"b"))
    saved = sampling_state.as_dict()
    assert SamplingState.from_dict(saved) == sampling_state
    json.dumps(saved | {"snapshots": []})
