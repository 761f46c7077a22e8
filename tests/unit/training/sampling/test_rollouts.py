"""What a batch is drawn from: its seed and number, and its sampling state."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from env.lab import VirtualLab
from env.pool import LabPool
from env.profile import load_profile, profile_from_config
from env.rollout import RolloutJob, RolloutTask
from training.options import TrainConfig
from training.policy import initial_policy
from training.ppo import PpoOptions
from training.sampling.rollout_sampler import BehaviourPolicy, RolloutSampler
from training.sampling.rollouts import RolloutWorkers, SamplingState

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
    workers = RolloutWorkers(load_profile(name), labs, 7, decisions)
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


@pytest.mark.parametrize(("prob", "probs"), [(0.5, [1.0, 1.0, 0.5, 0.5]), (0.0, [0.0] * 4)])
def test_all_skip_slow_start_in_the_first_part(prob: float, probs: list[float]) -> None:
    profile = profile_from_config({"name": "x", "paths": {"a": {}}, "skip_slow_start_prob": prob})
    config, workers = TrainConfig(profile=profile, algo=PpoOptions(skip_slow_start_until=0.5)), Mock()
    for share in (0, 0.49, 0.5, 1):
        RolloutSampler(config, workers).submit(BehaviourPolicy({}, torch.zeros(2)), share)
    states = [call.args[-1] for call in workers.submit.call_args_list]
    assert [state.skip_slow_start_prob for state in states[::2]] == probs  # with overlap two batches begin


def test_batch_is_a_function_of_number_and_state() -> None:
    bases = [
        SamplingState(),
        SamplingState(skip_slow_start_prob=0.4),
        SamplingState(snapshots=(b"old", b"older")),
    ]
    one, other = asked("fair", *bases), asked("fair", *bases)
    for a, b in zip(one.tasks, other.tasks, strict=True):
        assert same(a, b)
    for i, tasks in enumerate(one.tasks):
        assert not any(same(tasks, others) for others in one.tasks[:i])
    assert not same(asked("fair", SamplingState(), batch=4).tasks[0], one.tasks[0])


def test_episode_with_snapshot_rival_gets_a_snapshot() -> None:
    labs = asked("fair", SamplingState(), SamplingState(snapshots=(b"one", b"two")), decisions=200_000)
    for tasks, files in zip(labs.tasks, ({labs.tasks[0][0].model}, {b"one", b"two"}), strict=True):
        assert {task.snapshot for task in tasks if task.episode_config.has_snapshot} == files
        assert {task.snapshot for task in tasks if not task.episode_config.has_snapshot} == {b""}


def test_sampling_state_survives_writing_and_reading() -> None:
    sampling_state = SamplingState((b"a", b"b"), 0.5)
    saved = sampling_state.as_dict()
    assert SamplingState.from_dict(saved) == sampling_state
    of_before = {"width": 1.0, "hard": [], "hard_share": 0.0, "vary": 1.3}
    assert SamplingState.from_dict(of_before | saved) == sampling_state
