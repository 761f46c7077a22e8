"""The options of train.py: what a configuration holds, with types, defaults, help and limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from omegaconf import MISSING

from env.option_help import option
from env.pool import check_runner
from env.profile import Profile
from training.curriculum.curriculum import CurriculumOptions


@dataclass
class LearnerOptions:
    """What the options of all learners share, ``algo.<name>=``; each learner declares its own in its own file."""

    kind: str = MISSING  # the learner is training/KIND.py; algo= chooses it


@dataclass
class LabOptions:
    """The labs in which the policy is sampled: ``lab.<name>=``. Raises ValueError for a value outside its range."""

    workers: int = option(2, "labs side by side; one per core is best")
    memory_mb: int = option(512, "memory of each lab; the host provides it only as the lab touches it")
    timeout_s: float = option(600.0, "wall seconds after which an episode counts as hung and another lab repeats it")

    def __post_init__(self) -> None:
        for name in ("workers", "memory_mb", "timeout_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"lab.{name} is {getattr(self, name)}; it must be above 0")


@dataclass
class TrainConfig:
    """What ``python train.py key=value ...`` takes; ``profile curriculum algo lab debug`` are folders of configs/."""

    profile: Profile = field(default_factory=Profile)
    curriculum: CurriculumOptions = field(default_factory=CurriculumOptions)
    algo: LearnerOptions = field(default_factory=LearnerOptions)
    lab: LabOptions = field(default_factory=LabOptions)
    runner: str = option("local", "where episodes run: local (this machine), or ray (a Ray cluster; needs `make ray`)")
    ray_address: str | None = option(
        None, "address of the cluster, HOST:PORT or auto; default: start one on this machine for the run"
    )
    seed: int = option(1, "seed of weights, exploration, paths and labs; with -m a list such as 1,2,3")
    name: str | None = option(
        None, "name of the run's folder, default PROFILE-DATE-TIME-sSEED; with -m the population's name"
    )
    runs: str = option("runs", "folder in which the run's folder is made")
    resume: str | None = option(None, "run folder to continue, with its own configuration")
    checkpoint_every: int = option(1, "updates from one checkpoint to the next; writing one takes about 10 ms")

    def __post_init__(self) -> None:
        check_runner(self.runner, self.ray_address)
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; it must not be negative")
        if self.checkpoint_every < 1:
            raise ValueError(f"checkpoint_every is {self.checkpoint_every}; it must be at least 1")
        if self.name is not None and (not self.name or self.name in (".", "..") or os.sep in self.name):
            raise ValueError(f"name is {self.name!r}; it must be the name of a folder, without {os.sep}")
