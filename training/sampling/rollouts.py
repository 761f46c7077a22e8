"""Runs batches of rollouts in labs: it takes the weights of a policy and returns trajectories, for any algorithm.

Batch k of a seed is the same on any pool and with any number of workers. Its episodes, its exploration and the seeds of
its runs follow from its sampling state and from a generator with the seed (seed, k).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from env import schema
from env.lab import LabError
from env.pool import Pool, wait_all
from env.profile import PathSampler, Profile
from env.rollout import RolloutJob, RolloutTask
from env.trajectory import Trajectory
from export.formats.model_file import model_file
from training.policy import ACTION_SIZE

INT16 = np.iinfo(np.int16)


class SamplingState(NamedTuple):
    """The state that the episodes of a batch are drawn from, besides the profile.

    snapshots: model files; in each episode the snapshots among the rivals run one of them, or the current policy if
    there are none. skip_slow_start_prob: of each learner.
    """

    snapshots: tuple[bytes, ...] = ()
    skip_slow_start_prob: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a checkpoint; from_dict reads it."""
        return self._asdict() | {"snapshots": list(self.snapshots)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SamplingState:
        """Return the sampling state of as_dict()."""
        return cls(tuple(data["snapshots"]), data["skip_slow_start_prob"])


class RolloutWorkers:
    """Runs batches of rollouts in the labs of a pool, where the policy decides in the kernel as an int16 network.

    workers: number of episodes that run side by side. seed: of all random numbers. decisions: a batch has at least so
    many; it consists of whole episodes, with as many decisions of each learner as the profile says.
    """

    def __init__(self, profile: Profile, pool: Pool, seed: int, decisions: int) -> None:
        self.workers = pool.workers
        self._profile = profile
        self._sampler = PathSampler(profile, snapshots=True)
        self._seed = seed
        self._decisions = decisions
        self._policy_s = 0.0
        self._pool = pool
        self._batches: deque[list[Future[list[Trajectory]]]] = deque()

    @property
    def seconds(self) -> dict[str, float]:
        """Wall seconds so far: ``lab``, mean over the workers; ``policy``, for exporting policies and drawing
        batches."""
        return {"lab": self._pool.busy_s / self.workers, "policy": self._policy_s}

    def submit(self, weights: Mapping[str, Tensor], log_std: Tensor, batch: int, sampling_state: SamplingState) -> None:
        """Start a batch of the policy with these weights and Gaussian exploration, log_std [A]. Returns at once."""
        began = time.perf_counter()
        model, _ = model_file(weights, f"batch-{batch}", self._profile.name)
        std = np.exp(log_std.numpy()) * (1 << schema.ACTION_FRAC)  # [A], in the unit of the wire format
        rng = np.random.default_rng((self._seed, batch))
        tasks = self._tasks(model, std, sampling_state, rng)
        self._batches.append(self._pool.submit([RolloutJob(task, self._profile.reward) for task in tasks]))
        self._policy_s += time.perf_counter() - began

    def _tasks(
        self, model: bytes, std: np.ndarray, sampling_state: SamplingState, rng: np.random.Generator
    ) -> list[RolloutTask]:
        """Draw episodes until the batch has enough decisions."""
        tasks: list[RolloutTask] = []
        while sum(task.decisions for task in tasks) < self._decisions:
            episode_config, seed = self._sampler.draw(rng), int(rng.integers(2**63))
            learners, decisions = len(episode_config.learners), self._profile.decisions_on(episode_config.path)
            drawn = std * rng.standard_normal((learners, decisions, ACTION_SIZE))
            noise = np.clip(np.rint(drawn), INT16.min, INT16.max).astype(np.int16)
            snapshots = sampling_state.snapshots or (model,)
            snapshot = snapshots[int(rng.integers(len(snapshots)))] if episode_config.has_snapshot else b""
            skip_slow_start = tuple(np.flatnonzero(rng.random(learners) < sampling_state.skip_slow_start_prob).tolist())
            tasks.append(
                RolloutTask(
                    model,
                    episode_config,
                    seed,
                    noise,
                    decisions * learners,
                    self._profile.episode_s,
                    snapshot=snapshot,
                    skip_slow_start=skip_slow_start,
                )
            )
        return tasks

    def take(self, should_stop: Callable[[], bool]) -> list[Trajectory] | None:
        """Wait for the oldest batch. Raises env.lab.LabError.

        None as soon as `should_stop` returns true; the batch is then lost.
        """
        futures = self._batches.popleft()
        if not wait_all(futures, should_stop):
            return None
        trajectories = [trajectory for future in futures for trajectory in future.result()]
        if not trajectories:
            raise LabError(f"no connection made two decisions in a whole batch of profile {self._profile.name}")
        return trajectories
