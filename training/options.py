"""The options of train.py, with types, defaults, help and limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from omegaconf import MISSING

from env.errors import UserError
from env.options import check_limits, option
from env.pool import check_runner
from env.profile import Profile


@dataclass
class LearnerOptions:
    """The options that all learners share, ``algo.<name>=``. Each learner declares its own in its file.

    Raises UserError for a value outside its limits.
    """

    kind: str = MISSING  # the learner is training/KIND.py; algo= chooses it
    total_decisions: int = option(400_000, "decisions of the whole training; 0 saves the untrained network", ge=0)
    rollout_decisions: int = option(4096, "decisions of a batch; as many whole episodes as reach this number", ge=1)
    overlap: bool = option(True, "run the next batch during an update, with the policy of one update ago")
    skip_slow_start_until: float = option(
        0.65,
        "share of the training in which all connections skip slow start, if the profile has some that do",
        ge=0,
        le=1,
    )
    snapshot_every: int = option(
        10, "updates from one snapshot of the policy to the next, for rivals that are snapshots", ge=1
    )
    snapshots: int = option(5, "number of snapshots that are stored, the newest", ge=1)

    def __post_init__(self) -> None:
        check_limits(self, "algo.")


@dataclass
class LabOptions:
    """The labs in which the policy is sampled: ``lab.<name>=``. Raises UserError for a value outside its limits."""

    workers: int = option(2, "labs side by side; one per core is best", ge=1, le=1024)
    memory_mb: int = option(
        512, "memory of each lab; the host provides it only as the lab touches it", gt=0, le=1_000_000
    )
    timeout_s: float = option(
        600.0, "wall seconds after which an episode counts as hung and another lab repeats it", gt=0
    )

    def __post_init__(self) -> None:
        check_limits(self, "lab.")


@dataclass
class TrainConfig:
    """The keys of ``python train.py key=value ...``; ``profile algo lab debug`` are folders of configs/."""

    profile: Profile = field(default_factory=Profile)
    algo: LearnerOptions = field(default_factory=LearnerOptions)
    lab: LabOptions = field(default_factory=LabOptions)
    runner: str = option("local", "where episodes run: local (this machine), or ray (a Ray cluster; needs `make ray`)")
    ray_address: str | None = option(
        None, "address of the cluster, HOST:PORT or auto; default: start one on this machine for the run"
    )
    seed: int = option(1, "seed of weights, exploration, paths and labs; with -m a list such as 1,2,3", ge=0)
    name: str | None = option(
        None, "name of the run's folder, default PROFILE-DATE-TIME-sSEED; with -m the population's name"
    )
    runs: str = option("runs", "folder in which the run's folder is made")
    resume: str | None = option(None, "run folder to continue, with its own configuration")
    trust: bool = option(False, "build congestion controls that a checkpoint or a profile names, not the command")
    checkpoint_every: int = option(1, "updates from one checkpoint to the next; writing one takes about 10 ms", ge=1)
    milestones: int = option(
        10, "policies kept along the training, evenly spaced, in RUN/milestones; 0: none", ge=0, le=1000
    )

    def __post_init__(self) -> None:
        check_limits(self)
        check_runner(self.runner, self.ray_address)
        if self.name is not None and (not self.name or self.name in (".", "..") or os.sep in self.name):
            raise UserError(f"name is {self.name!r}; it must be the name of a folder, without {os.sep}")
