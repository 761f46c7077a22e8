"""The configuration of train.py: its keys and types, and errors that list the right ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import training.sweeps  # noqa: F401  (registers the sweeper and the launcher that configs/train.yaml names)
from env.checkout import CONFIGS
from env.near import did_you_mean
from env.pool import check_runner
from env.profile import Profile, ProfileError, profile_from_config
from training.cma import CmaOptions
from training.curriculum.curriculum import CurriculumOptions
from training.learner import LearnerOptions
from training.ppo import PpoOptions

LEARNERS: dict[str, type[LearnerOptions]] = {"ppo": PpoOptions, "cma": CmaOptions}
# What a resumed run may change: single values of the groups, and what does not change its result.
GROUPS = ("algo", "curriculum", "lab", "profile")
CHANGEABLE = (*GROUPS, "checkpoint_every", "runner", "ray_address")


class ConfigError(Exception):
    """A configuration that cannot be used; the text names the bad value and the right ones."""


@dataclass
class LabOptions:
    """The labs of a training: ``lab.<name>=``. Raises ValueError for a value outside its range."""

    workers: int = 2  # labs side by side; one per core is best
    memory_mb: int = 512  # of each lab, taken as it is touched
    timeout_s: float = 600.0  # wall seconds of an episode after which its lab counts as hung and another repeats it

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
    runner: str = "local"  # where episodes run: local, or ray for a Ray cluster (`make ray`)
    ray_address: str | None = None  # of the cluster: HOST:PORT or auto; default: one on this machine for the run
    seed: int = 1  # of weights, exploration, paths and labs; with -m 1,2,3
    name: str | None = None  # of the run's folder, default PROFILE-DATE-TIME-sSEED; with -m of the population's
    runs: str = "runs"  # folder of the run's folder
    resume: str | None = None  # run folder to go on with, with its own configuration
    checkpoint_every: int = 1  # updates between two checkpoints; one takes a hundredth of a second

    def __post_init__(self) -> None:
        check_runner(self.runner, self.ray_address)
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; it must not be negative")
        if self.checkpoint_every < 1:
            raise ValueError(f"checkpoint_every is {self.checkpoint_every}; it must be at least 1")
        if self.name is not None and (not self.name or self.name in (".", "..") or os.sep in self.name):
            raise ValueError(f"name is {self.name!r}; it must be the name of a folder, without {os.sep}")


ConfigStore.instance().store(name="train_schema", node=TrainConfig)
for _kind, _options in LEARNERS.items():
    ConfigStore.instance().store(group="learner", name=_kind, node=_options)


def check_command_line(overrides: Sequence[str]) -> None:
    """Compose the configuration as Hydra is about to, for a clearer error than Hydra's own.

    Raises ConfigError: unknown key, group or option, or a value of the wrong type, each with the right ones. Leaves
    sweeps (``-m``) and Hydra's own flags to Hydra.
    """
    if any(override.startswith("-") for override in overrides):
        return
    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            compose("train", list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_explain(error)) from error


def read_config(composed: DictConfig) -> TrainConfig:
    """Return the checked configuration. Raises ConfigError."""
    try:
        profile = profile_from_config(composed.profile)
        config = OmegaConf.to_object(composed)
    except (OmegaConfBaseException, ValueError) as error:
        raise ConfigError(str(error) if isinstance(error, ProfileError) else _explain(error)) from error
    assert isinstance(config, TrainConfig)
    if LEARNERS.get(config.algo.kind) is not type(config.algo):
        raise ConfigError(f"algo.kind is {config.algo.kind}, but the options are another learner's; choose it by algo=")
    if config.curriculum.changes_anything and config.algo.kind != "ppo":
        raise ConfigError(f"algo={config.algo.kind} has no curriculum: leave curriculum= out, or choose algo=ppo_long")
    config.profile = profile
    return config


def learner_of(saved: dict[str, Any]) -> str:
    """Return the kind of learner of a checkpoint's configuration; one that does not say is of PPO."""
    return str(saved["algo"].get("kind", "ppo"))


def resumed_config(saved: dict[str, Any], composed: DictConfig, overrides: Sequence[str]) -> DictConfig:
    """Return a checkpoint's configuration, changed by the overrides given beside ``resume=``.

    Raises ConfigError when an override is not of a single value of one of `GROUPS`: a resumed run keeps its
    groups, name and seed. ``algo=`` with the learner that the run has anyway is no change.
    """
    try:
        schema = OmegaConf.structured(TrainConfig)
        schema.algo = OmegaConf.structured(LEARNERS[learner_of(saved)])
        config = OmegaConf.merge(schema, saved)
    except OmegaConfBaseException as error:
        raise ConfigError(f"the checkpoint's configuration does not fit this version: {_explain(error)}") from error
    assert isinstance(config, DictConfig)
    for override in overrides:
        key = override.split("=", 1)[0].lstrip("+")
        if key == "resume" or override == f"algo={learner_of(saved)}":
            continue
        if key.split(".")[0] not in CHANGEABLE or key in GROUPS:
            raise ConfigError(
                f"{override} cannot be changed in a resumed run: it keeps its {key}; "
                "single values such as algo.total_decisions=, lab.workers= or profile.reward.delay= can be"
            )
        OmegaConf.update(config, key, OmegaConf.select(composed, key))
    return config


def _explain(error: Exception) -> str:
    """One paragraph for what Hydra or OmegaConf raised: the bad key or value, and the right ones."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    if cause is None:
        # An unknown option of a group: Hydra lists the available ones, then where it looked.
        return " ".join(str(error).partition("Config search path")[0].split())
    key = cause.full_key or cause.key
    first_line = str(cause).splitlines()[0]
    kind = cause.object_type
    place, _, wrong = str(key).rpartition(".")
    if "not in" in first_line and isinstance(kind, type) and is_dataclass(kind):
        right = [entry.name for entry in fields(kind)]
        hint = did_you_mean(wrong, right, most=1)
        return f"{key} is unknown: {hint}The keys {'of ' + place if place else 'at the top'} are {', '.join(right)}."
    keys = list(cause.parent_node) if "not in" in first_line and isinstance(cause.parent_node, DictConfig) else []
    return f"{key}: {first_line}" + (f"; the keys there are {', '.join(map(str, keys))}" if keys else "")
