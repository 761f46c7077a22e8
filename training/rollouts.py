"""Who plays the episodes that a learner learns from: the protocol, and labs, of this machine or of a cluster.

A player knows nothing of the algorithm: weights in, episodes out. Batch k of a seed is the same whoever plays it, when
and with how many workers: its sampling state and what is drawn from (seed, k) say its episodes, exploration and the
seeds of its runs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from env import schema
from env.lab import LabError
from env.privileged import PRIVILEGED
from env.profile import EpisodeConfig, PathSampler, Profile
from env.rollout import Played, Task
from env.trajectory import Trajectory
from export.model_file import model_file
from training.policy import ACTION_SIZE

STOP_S = 0.2  # how often a wait for the labs looks whether to stop
INT16 = np.iinfo(np.int16)


class SamplingState(NamedTuple):
    """What the episodes of a batch are drawn from, besides the profile.

    width: of each range, as for env.profile.ranges.middle. hard: episodes around which, within a factor `vary` of their
    numbers, a share `hard_share` of the episodes is drawn. snapshots: model files, one of which the rivals that are a
    snapshot have in an episode; without any they have the policy that plays. skip_slow_start_prob: of each
    learner; None: the profile's.
    """

    width: float = 1.0
    hard: tuple[EpisodeConfig, ...] = ()
    hard_share: float = 0.0
    vary: float = 1.0
    snapshots: tuple[bytes, ...] = ()
    skip_slow_start_prob: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a checkpoint; from_dict reads it."""
        return self._asdict() | {
            "hard": [episode_config.as_dict() for episode_config in self.hard],
            "snapshots": list(self.snapshots),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SamplingState:
        """Return the sampling state of as_dict()."""
        hard = tuple(EpisodeConfig.from_dict(episode_config) for episode_config in data["hard"])
        return cls(**{**data, "hard": hard, "snapshots": tuple(data["snapshots"])})


class Player(Protocol):
    """Plays batches of episodes, in the order in which they are submitted."""

    @property
    def privileged(self) -> int:
        """P, numbers that only a critic knows."""
        ...

    @property
    def workers(self) -> int:
        """Episodes that are played side by side."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """What took how much of the wall time so far: ``lab``, mean over the workers; ``policy``, handing it over."""
        ...

    def submit(self, weights: Mapping[str, Tensor], log_std: Tensor, batch: int, sampling_state: SamplingState) -> None:
        """Have the policy of these weights play a batch with Gaussian exploration, log_std [A]. Returns at once."""
        ...

    def take(self, should_stop: Callable[[], bool]) -> list[Trajectory] | None:
        """Wait for the oldest batch; None when `should_stop` said so on the way. Raises env.lab's LabError."""
        ...

    def close(self) -> None:
        """End what plays."""
        ...


class Labs(Protocol):
    """Where episodes are played: env.rollout.Player, env.pool.ray_player.RayPlayer."""

    @property
    def workers(self) -> int:
        """How many are played side by side."""
        ...

    @property
    def busy_s(self) -> float:
        """Wall seconds of playing so far, summed over the workers."""
        ...

    def submit(self, model: bytes, tasks: Sequence[Task]) -> list[Future[Played]]:
        """Have the episodes played; returns one future for each, in the order of the tasks."""
        ...

    def close(self) -> None:
        """End the labs."""
        ...


class LabPlayer:
    """Labs in which the int16 network that the weights make decides in the kernel.

    ``seed``: of everything. ``decisions``: in a batch at least; it is made of whole episodes, of as many decisions for
    each learner as the profile says.
    """

    privileged = len(PRIVILEGED)

    def __init__(self, profile: Profile, labs: Labs, seed: int, decisions: int) -> None:
        self.workers = labs.workers
        self._profile = profile
        self._sampler = PathSampler(profile, snapshots=True)
        self._seed = seed
        self._decisions = decisions
        self._policy_s = 0.0
        self._labs = labs
        self._batches: deque[list[Future[Played]]] = deque()

    @property
    def seconds(self) -> Mapping[str, float]:
        """See `Player`. In the lab the policy takes less than a hundredth of the time, and is counted with it."""
        return {"lab": self._labs.busy_s / self.workers, "policy": self._policy_s}

    def submit(self, weights: Mapping[str, Tensor], log_std: Tensor, batch: int, sampling_state: SamplingState) -> None:
        """See `Player`."""
        began = time.perf_counter()
        model, _ = model_file(weights, f"batch-{batch}", self._profile.name)
        std = np.exp(log_std.numpy()) * (1 << schema.ACTION_FRAC)  # [A], of the wire's numbers
        rng = np.random.default_rng((self._seed, batch))
        self._batches.append(self._labs.submit(model, self._tasks(model, std, sampling_state, rng)))
        self._policy_s += time.perf_counter() - began

    def _tasks(
        self, model: bytes, std: np.ndarray, sampling_state: SamplingState, rng: np.random.Generator
    ) -> list[Task]:
        """Draw episodes until there are enough decisions."""
        tasks: list[Task] = []
        chance = (
            self._profile.skip_slow_start_prob
            if sampling_state.skip_slow_start_prob is None
            else sampling_state.skip_slow_start_prob
        )
        while sum(task.decisions for task in tasks) < self._decisions:
            episode_config, seed = self._episode_config(sampling_state, rng), int(rng.integers(2**63))
            learners, each = len(episode_config.learners), self._profile.decisions_on(episode_config.path)
            drawn = std * rng.standard_normal((learners, each, ACTION_SIZE))
            noise = np.clip(np.rint(drawn), INT16.min, INT16.max).astype(np.int16)
            snapshot = draw_snapshot(episode_config, sampling_state.snapshots or (model,), rng)
            started = tuple(np.flatnonzero(rng.random(learners) < chance).tolist())
            seconds = self._profile.episode_s
            tasks.append(
                Task(episode_config, seed, noise, each * learners, seconds, snapshot=snapshot, started=started)
            )
        return tasks

    def _episode_config(self, sampling_state: SamplingState, rng: np.random.Generator) -> EpisodeConfig:
        if sampling_state.hard and rng.random() < sampling_state.hard_share:
            return self._sampler.draw_near(
                sampling_state.hard[int(rng.integers(len(sampling_state.hard)))], sampling_state.vary, rng
            )
        return self._sampler.draw(rng, sampling_state.width)

    def take(self, should_stop: Callable[[], bool]) -> list[Trajectory] | None:
        """See `Player`. Whoever stops gives up what is being played."""
        futures = self._batches.popleft()
        if not all_played(futures, should_stop):
            return None
        episodes = [trajectory for future in futures for trajectory in future.result().episodes]
        if not episodes:
            raise LabError(f"no connection made two decisions in a whole batch of profile {self._profile.name}")
        return episodes

    def close(self) -> None:
        """See `Player`."""
        self._labs.close()


def draw_snapshot(episode_config: EpisodeConfig, snapshots: Sequence[bytes], rng: np.random.Generator) -> bytes:
    """Return the model file of the episode's snapshots, or none where it has no such rival."""
    return snapshots[int(rng.integers(len(snapshots)))] if episode_config.has_snapshot else b""


def all_played(futures: Sequence[Future[Played]], should_stop: Callable[[], bool]) -> bool:
    """Wait for episodes; False when `should_stop` said so on the way. Raises env.lab's LabError, at once."""
    missing = set(futures)
    while missing:
        if should_stop():
            return False
        done, missing = wait(missing, timeout=STOP_S)
        for future in done:
            future.result()
    return True
