"""Who plays the episodes that a learner learns from: the protocol, and labs, of this machine or of a cluster.

A player knows nothing of the algorithm: weights in, episodes out. Batch k of a seed is the same whoever plays it, when
and with how many workers: its courses, its exploration and the seeds of its runs are drawn from (seed, k).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Protocol

import numpy as np
from torch import Tensor

from env import schema
from env.lab import LabError
from env.player import Task
from env.profile import PATH_FEATURES, PathSampler, Profile
from env.trajectory import Trajectory
from training.model_file import model_file
from training.policy import ACTION_SIZE

STOP_S = 0.2  # how often a wait for the labs looks whether to stop
INT16 = np.iinfo(np.int16)


class Player(Protocol):
    """Plays batches of episodes, in the order in which they are submitted."""

    @property
    def path_size(self) -> int:
        """P, numbers that describe a path."""
        ...

    @property
    def workers(self) -> int:
        """Episodes that are played side by side."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """What took how much of the wall time so far: ``lab``, mean over the workers; ``policy``, handing it over."""
        ...

    def submit(self, weights: Mapping[str, Tensor], log_std: Tensor, batch: int) -> None:
        """Have the policy of these weights play a batch with Gaussian exploration, log_std [A]. Returns at once."""
        ...

    def take(self, should_stop: Callable[[], bool]) -> list[Trajectory] | None:
        """Wait for the oldest batch; None when `should_stop` said so on the way. Raises env.lab's LabError."""
        ...

    def close(self) -> None:
        """End what plays."""
        ...


class Labs(Protocol):
    """Where episodes are played: env.player.Player, env.ray_player.RayPlayer."""

    @property
    def workers(self) -> int:
        """How many are played side by side."""
        ...

    @property
    def busy_s(self) -> float:
        """Wall seconds of playing so far, summed over the workers."""
        ...

    def submit(self, model: bytes, tasks: Sequence[Task]) -> list[Future[list[Trajectory]]]:
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

    path_size = len(PATH_FEATURES)

    def __init__(self, profile: Profile, labs: Labs, seed: int, decisions: int) -> None:
        self.workers = labs.workers
        self._profile = profile
        self._sampler = PathSampler(profile)
        self._seed = seed
        self._decisions = decisions
        self._policy_s = 0.0
        self._labs = labs
        self._batches: deque[list[Future[list[Trajectory]]]] = deque()

    @property
    def seconds(self) -> Mapping[str, float]:
        """See `Player`. In the lab the policy takes less than a hundredth of the time, and is counted with it."""
        return {"lab": self._labs.busy_s / self.workers, "policy": self._policy_s}

    def submit(self, weights: Mapping[str, Tensor], log_std: Tensor, batch: int) -> None:
        """See `Player`."""
        began = time.perf_counter()
        model, _ = model_file(weights, f"batch-{batch}", self._profile.name)
        std = np.exp(log_std.numpy()) * (1 << schema.ACTION_FRAC)  # [A], of the wire's numbers
        self._batches.append(self._labs.submit(model, self._tasks(std, np.random.default_rng((self._seed, batch)))))
        self._policy_s += time.perf_counter() - began

    def _tasks(self, std: np.ndarray, rng: np.random.Generator) -> list[Task]:
        """Draw episodes until there are enough decisions."""
        tasks: list[Task] = []
        each = self._profile.episode_decisions
        while sum(task.decisions for task in tasks) < self._decisions:
            course, seed = self._sampler.draw(rng), int(rng.integers(2**63))
            learners = len(course.learners)
            drawn = std * rng.standard_normal((learners, each, ACTION_SIZE))
            noise = np.clip(np.rint(drawn), INT16.min, INT16.max).astype(np.int16)
            tasks.append(Task(course, seed, noise, each * learners, self._profile.episode_s))
        return tasks

    def take(self, should_stop: Callable[[], bool]) -> list[Trajectory] | None:
        """See `Player`. Whoever stops gives up what is being played."""
        futures = self._batches.popleft()
        missing = set(futures)
        while missing:
            if should_stop():
                return None
            done, missing = wait(missing, timeout=STOP_S)
            for future in done:
                future.result()  # raises what went wrong, at once
        episodes = [trajectory for future in futures for trajectory in future.result()]
        if not episodes:
            raise LabError(f"no connection made two decisions in a whole batch of profile {self._profile.name}")
        return episodes

    def close(self) -> None:
        """See `Player`."""
        self._labs.close()
