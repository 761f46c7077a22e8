"""The protocols `Learner` and `Sampler`, by which training/loop.py runs any learning algorithm.

A learner is one file, training/KIND.py, that holds its options, its algorithm and ``LEARNER``, its class. A file of
configs/algo chooses it by ``/learner/KIND@_here_`` as its first default; nothing else lists the learners. There are two
samplers: training/sampling/rollout_sampler.py has the policy act and returns trajectories,
training/sampling/generation_sampler.py returns the fitness of candidates. In a training::

    behaviour = learner.behaviour()              # what acts: a policy with exploration noise, or candidates
    sampler.submit(behaviour, ...)               # the lab runs it
    sample = sampler.take(...)
    metrics = learner.update(sample)             # one batch or generation
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from omegaconf import OmegaConf
from torch import Tensor

from env.checkout import CONFIGS
from env.pool import Pool
from training.metrics import Metric
from training.options import LearnerOptions, TrainConfig


class Progress(NamedTuple):
    """The progress of a training, in the learner's unit."""

    done: int
    total: int
    unit: str

    @property
    def share(self) -> float:
        """The share of the training that is done, 0 to 1."""
        return min(1.0, self.done / max(1, self.total))


class Sample(NamedTuple):
    """One batch or generation: the learner's data, and the numbers that the loop reports."""

    data: Any  # for the learner's update: trajectories, or evaluations
    behaviour: Any  # the policy or candidates that produced the data
    decisions: int
    virtual_s: float
    metrics: dict[str, float]


class Sampler(Protocol):
    """Runs the behaviour that a learner submits in the lab, in the order of submission."""

    warnings: Sequence[str]  # about the newest sample, for the terminal

    @property
    def workers(self) -> int:
        """Labs side by side."""
        ...

    @property
    def modules(self) -> tuple[str, ...]:
        """Kernel modules that the labs load besides env.lab.virtual.ALWAYS_LOADED; the run's card has their hashes."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """Wall seconds so far by activity, for charts/ACTIVITY_share. ``lab`` is the mean over the workers."""
        ...

    def submit(self, behaviour: Any, share: float) -> None:
        """Start the next sample; returns at once. share: of the training that is done, 0 to 1."""
        ...

    def take(self, should_stop: Callable[[], bool]) -> Sample | None:
        """Wait for the oldest sample; None if `should_stop` returns true meanwhile. Raises env.lab.LabError."""
        ...

    def observe(self, policy: Mapping[str, Tensor]) -> None:
        """Observe the policy after an update."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as plain data and tensors for a checkpoint."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        ...


class Learner(Protocol):
    """A learning algorithm."""

    OPTIONS: ClassVar[type[LearnerOptions]]
    DEBUG: ClassVar[Mapping[str, Mapping[str, Any]]]  # file of configs/debug -> options of such a run
    TITLE: ClassVar[str]  # name in the documentation
    METRICS: ClassVar[Sequence[Metric]]
    warnings: Sequence[str]  # about the newest update, for the terminal

    @classmethod
    def build(cls, config: TrainConfig) -> Self:
        """Return a learner with new networks."""
        ...

    def begin(self, config: TrainConfig) -> None:
        """Prepare a new run by options such as algo.start=. Raises ValueError, RecordingError, CheckpointError."""
        ...

    @classmethod
    def sampler(cls, config: TrainConfig, pool: Pool) -> Sampler:
        """Return the sampler that runs its behaviour in the labs of a pool."""
        ...

    @property
    def progress(self) -> Progress:
        """The progress of the training."""
        ...

    @property
    def policy_weights(self) -> dict[str, Tensor]:
        """A copy of the policy's state dict, which checkpoints hold and which is exported."""
        ...

    def behaviour(self) -> Any:
        """Return the policy or candidates that act in the next sample."""
        ...

    def update(self, sample: Sample) -> dict[str, float]:
        """Learn from one sample; returns metrics."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the entries `policy`, `decisions` and `learner` of a checkpoint."""
        ...

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state`. Raises ValueError when it does not fit the options."""
        ...


def kinds() -> dict[str, str]:
    """Return the name of each file of configs/algo with the kind of learner that it chooses; raises ValueError."""
    kind_of_file = {}
    for file in sorted((CONFIGS / "algo").glob("*.yaml")):
        first = OmegaConf.select(OmegaConf.load(file), "defaults[0]")
        match = re.fullmatch(r"/learner/(\w+)@_here_", str(first))
        if match is None:
            raise ValueError(f"{file} has the first default {first}; it must be /learner/KIND@_here_")
        kind_of_file[file.stem] = match[1]
    return kind_of_file


def learner_class(kind: str) -> type[Learner]:
    """Return the learner of a kind."""
    learner: type[Learner] = importlib.import_module(f"training.{kind}").LEARNER
    return learner
