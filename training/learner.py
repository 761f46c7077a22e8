"""The protocol `Learner`, by which training/loop.py runs any learning algorithm.

A learner is one file, training/KIND.py, that holds its options, its algorithm and ``LEARNER``, its class. A file of
configs/algo chooses it by ``/learner/KIND@_here_`` as its first default; nothing else lists the learners. In a
training, with the sampler of training/sampling/rollout_sampler.py::

    sampler.submit(learner.behaviour(), ...)     # the lab runs the policy, with exploration noise
    sample = sampler.take(...)                   # one batch of trajectories
    metrics = learner.update(sample)
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from omegaconf import OmegaConf
from torch import Tensor

from env.checkout import CONFIGS
from training.metrics import Metric
from training.options import LearnerOptions, TrainConfig
from training.sampling.rollout_sampler import BehaviourPolicy, Sample


class Progress(NamedTuple):
    """The progress of a training, in decisions."""

    done: int
    total: int

    @property
    def share(self) -> float:
        """The share of the training that is done, 0 to 1."""
        return min(1.0, self.done / max(1, self.total))


class Learner(Protocol):
    """A learning algorithm."""

    OPTIONS: ClassVar[type[LearnerOptions]]
    TITLE: ClassVar[str]  # name in the documentation
    METRICS: ClassVar[Sequence[Metric]]
    warnings: Sequence[str]  # about the newest update, for the terminal

    @classmethod
    def build(cls, config: TrainConfig) -> Self:
        """Return a learner with new networks."""
        ...

    def begin(self) -> None:
        """Prepare a new run by options such as algo.start=. Raises UserError."""
        ...

    @property
    def progress(self) -> Progress:
        """The progress of the training."""
        ...

    @property
    def policy_weights(self) -> dict[str, Tensor]:
        """A copy of the policy's state dict, which checkpoints hold and which is exported."""
        ...

    def behaviour(self) -> BehaviourPolicy:
        """Return the policy that acts in the next sample."""
        ...

    def update(self, sample: Sample) -> dict[str, float]:
        """Learn from one sample; returns metrics."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the entries `policy`, `decisions` and `learner` of a checkpoint."""
        ...

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state`. Raises UserError when it does not fit the options."""
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
