"""Composes, checks and resumes the configuration of train.py, with errors that name the right keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import DictConfig, OmegaConf

import training.sweeps  # noqa: F401  (registers the sweeper and the launcher that configs/train.yaml names)
from env.checkout import CONFIGS
from env.config_errors import explained, refuse_variables, single_values
from env.errors import UserError, in_context
from env.network.scenario_files import SUFFIXES
from env.options import check_dashes
from env.profile import check_profile, load_profile
from training.learner import kinds, learner_class
from training.options import TrainConfig

LEARNERS = {kind: learner_class(kind) for kind in sorted(set(kinds().values()))}
# A resumed run may change single values of these groups, and options that do not change its result.
GROUPS = ("algo", "lab")
OF_THE_COMMAND = ("runner", "ray_address", "trust")  # never taken from a checkpoint, which others may have made
CHANGEABLE = (*GROUPS, "checkpoint_every", *OF_THE_COMMAND)
GONE = {  # options that went, with the value of a run that can go on without them
    "algo.quantization_aware": False,
    "curriculum.start_width": 1.0,
    "curriculum.hard_share": 0.0,
}


ConfigStore.instance().store(name="train_schema", node=TrainConfig)
for _kind, _learner in LEARNERS.items():
    ConfigStore.instance().store(group="learner", name=_kind, node=_learner.OPTIONS)


def values(word: str) -> list[str]:
    """Return the values of an argument KEY=VALUE, several in a sweep. Raises UserError."""
    with explained():
        given = single_values(OverridesParser.create().parse_override(word))
    return [str(getattr(value, "text", value)) for value in given]  # of a value in quotes


def with_own_profiles(word: str) -> str:
    """Return an argument. If it is profile= with .yaml files, it has their absolute paths, and Hydra knows the files.

    Raises UserError for a file that holds no profile.
    """
    if not word.startswith("profile=") or not any(suffix in word for suffix in SUFFIXES):
        return word
    names = []
    for name in values(word):
        if name.endswith(SUFFIXES):
            file = Path(name).expanduser().absolute()
            ConfigStore.instance().store(group=f"profile{file.parent}", name=file.name, node=load_profile(str(file)))
            name = QuotedString(str(file), Quote.double).with_quotes()
        names.append(name)
    return f"profile={','.join(names)}"


def check_command_line(overrides: Sequence[str]) -> None:
    """Compose the configuration before Hydra does, for clearer errors than Hydra's.

    Raises UserError for an unknown key, group or option and for a value of the wrong type, with the right ones. Does
    nothing for sweeps (``-m``) and Hydra's own flags.
    """
    check_dashes(overrides, [*(entry.name for entry in fields(TrainConfig)), "debug"])
    if any(override.startswith("-") for override in overrides):
        return
    for override in overrides:
        if override.find("=") < 1 and not override.startswith("~"):
            raise UserError(f"{override!r} is no option. The options are KEY=VALUE; --help lists them")
    with explained(), initialize_config_dir(str(CONFIGS), version_base="1.3"):
        compose("train", list(overrides))


def read_config(composed: DictConfig) -> TrainConfig:
    """Return the checked configuration. Raises UserError."""
    with explained():
        config = OmegaConf.to_object(composed)
    assert isinstance(config, TrainConfig)
    kind = config.algo.kind
    learner = LEARNERS.get(kind)
    if learner is None or learner.OPTIONS is not type(config.algo):
        raise UserError(f"algo.kind is {kind}, but the options are another learner's; choose the learner by algo=")
    check_profile(config.profile)
    return config


def resumed_config(saved: Mapping[str, Any], composed: DictConfig, overrides: Sequence[str]) -> DictConfig:
    """Return a checkpoint's configuration, changed by the overrides given beside ``resume=``.

    Raises UserError when an override is not a single value in one of `CHANGEABLE`: a resumed run keeps its groups,
    name and seed. ``algo=`` with the run's own learner is allowed.
    """
    refuse_variables(saved, "the checkpoint's configuration")
    kind = saved["algo"]["kind"]
    if kind not in LEARNERS:
        raise UserError(f"the checkpoint is of the learner {kind!r}; this version has {', '.join(LEARNERS)}")
    with in_context("the checkpoint's configuration does not fit this version"), explained():
        schema = OmegaConf.structured(TrainConfig)
        schema.algo = OmegaConf.structured(LEARNERS[kind].OPTIONS)
        config = OmegaConf.merge(schema, _today(saved))
    assert isinstance(config, DictConfig)
    for override in overrides:
        key = override.split("=", 1)[0].lstrip("+")
        if key == "resume" or override == f"algo={kind}":
            continue
        if key.split(".")[0] not in CHANGEABLE or key in GROUPS:
            raise UserError(
                f"{override} cannot be changed in a resumed run: it keeps its {key}; single values such as "
                "algo.total_decisions= or lab.workers= can be, and another objective is for a new run, by algo.start="
            )
        OmegaConf.update(config, key, OmegaConf.select(composed, key))
    return config


def _today(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checkpoint's configuration with the options of this version. Raises UserError if it needs others."""
    saved = {key: value for key, value in saved.items() if key not in OF_THE_COMMAND}
    if "curriculum" not in saved:  # it is of this version
        return saved
    for key, default in GONE.items():
        group, _, name = key.partition(".")
        if (value := saved[group].get(name, default)) != default:
            raise UserError(f"the run began with {key}={value}, which this version does not have")
    algo = {name: value for name, value in saved["algo"].items() if not name.startswith("imitate")}
    algo |= {"skip_slow_start_until": saved["curriculum"]["skip_slow_start_until"]}
    return {group: values for group, values in saved.items() if group != "curriculum"} | {"algo": algo}
