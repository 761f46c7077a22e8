"""What training/loop.py needs of a learning algorithm: the protocols `Learner` and `Sampler`.

A learner is one file, training/KIND.py, that holds its options, its algorithm and ``LEARNER``, its class. A file of
configs/algo chooses it by ``/learner/KIND@_here_`` as its first default; nothing else lists the learners. In a
training::

    behaviour = learner.behaviour()              # what acts: a policy with exploration noise, or candidates
    sampler.submit(behaviour, ...)               # the lab runs it
    sample = sampler.take(...)
    metrics = learner.update(sample)             # one batch or generation
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from omegaconf import OmegaConf
from torch import Tensor

from env.checkout import CONFIGS
from env.pool import Pool
from training.metrics import Metric
from training.options import LearnerOptions, TrainConfig


class Progress(NamedTuple):
    """How far a training has come, in the learner's own unit."""

    done: int
    total: int
    unit: str

    @property
    def share(self) -> float:
        """The share of the training that is done, 0 to 1."""
        return min(1.0, self.done / max(1, self.total))


class Sample(NamedTuple):
    """What one batch or generation was: the learner's data, and what the loop reports."""

    data: Any  # what the learner's update takes: trajectories, or evaluations
    behaviour: Any  # what produced them
    decisions: int
    virtual_s: float
    metrics: dict[str, float]


class Sampler(Protocol):
    """Has the lab run what a learner submits, in the order of submission."""

    warnings: Sequence[str]  # sentences for the terminal, of the newest sample
    hard_cases: Sequence[dict[str, Any]]  # of a curriculum, as the card shows them

    @property
    def workers(self) -> int:
        """Labs side by side."""
        ...

    @property
    def modules(self) -> tuple[str, ...]:
        """Kernel modules that the labs run: the run's card has their hashes."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """Wall seconds so far by activity, ``lab`` among them: the mean over the workers. Written as charts/*_share."""
        ...

    def submit(self, behaviour: Any, share: float) -> None:
        """Start the next sample; returns at once. share: of the training that is done, 0 to 1."""
        ...

    def take(self, should_stop: Callable[[], bool]) -> Sample | None:
        """Wait for the oldest sample; None when `should_stop` returned true meanwhile. Raises env.lab.LabError."""
        ...

    def observe(self, policy: Mapping[str, Tensor], should_stop: Callable[[], bool]) -> dict[str, float] | None:
        """Observe the policy after an update; returns metrics, or None when `should_stop` returned true meanwhile."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, as a checkpoint holds it."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        ...


class Learner(Protocol):
    """A learning algorithm."""

    OPTIONS: ClassVar[type[LearnerOptions]]
    DEBUG: ClassVar[Mapping[str, Mapping[str, Any]]]  # file of configs/debug -> options of such a run
    TITLE: ClassVar[str]  # its name in the documentation
    METRICS: ClassVar[Sequence[Metric]]
    HAS_CURRICULUM: ClassVar[bool]  # whether curriculum= changes what it learns from
    warnings: Sequence[str]  # sentences for the terminal, of the newest update

    @classmethod
    def build(cls, config: TrainConfig) -> Self:
        """Return a learner with new networks."""
        ...

    def begin(self, config: TrainConfig) -> None:
        """Begin a new run as the options say, such as algo.start=. Raises ValueError, RunError, CheckpointError."""
        ...

    @classmethod
    def sampler(cls, config: TrainConfig, folder: Path, pool: Pool) -> Sampler:
        """Return what runs its behaviour in the labs of a pool; folder: of the run, which need not exist yet."""
        ...

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        ...

    @property
    def policy_weights(self) -> dict[str, Tensor]:
        """A copy of the policy's state dict: what a checkpoint holds and what is exported."""
        ...

    def behaviour(self) -> Any:
        """Return what acts in the next sample."""
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
    """Return the name of each file of configs/algo with the kind of learner that it chooses."""
    files = sorted((CONFIGS / "algo").glob("*.yaml"))
    chosen = {file.stem: str(OmegaConf.load(file).defaults[0]) for file in files}  # /learner/KIND@_here_
    return {name: entry.removeprefix("/learner/").partition("@")[0] for name, entry in chosen.items()}


def learner_class(kind: str) -> type[Learner]:
    """Return the learner of a kind."""
    learner: type[Learner] = importlib.import_module(f"training.{kind}").LEARNER
    return learner
