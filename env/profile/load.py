"""Reads profiles: from configs/profile, from files anywhere, or from a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from env.checkout import CONFIGS
from env.config_errors import explained, read_config
from env.errors import UserError, in_context, suggest
from env.network.scenario_files import SUFFIXES
from env.profile.checks import check_profile
from env.profile.mixture import Profile

FOLDER = CONFIGS / "profile"


def profile_names() -> list[str]:
    """Return the names of all profiles, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def load_profile(name: str) -> Profile:
    """Read and check one profile: of configs/profile, or from the path of a .yaml file.

    Raises UserError for an unknown name, a wrong key or type (each with the right ones), or a distribution that
    gives no valid path.
    """
    own = name.endswith(SUFFIXES)
    file = Path(name).expanduser() if own else FOLDER / f"{name}.yaml"
    if not own and not file.is_file():
        names = profile_names()
        hint = suggest(name, names, limit=1)
        raise UserError(f"profile {name!r} is unknown{hint}The profiles are {', '.join(names)} and .yaml files.")
    profile = read_config(Profile, file)
    check_profile(profile)
    return profile


def profile_from_config(config: DictConfig | Mapping[str, Any]) -> Profile:
    """Return the checked profile of a mapping. Raises UserError."""
    with in_context("the profile"), explained():
        profile = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Profile), config))
    assert isinstance(profile, Profile)
    check_profile(profile)
    return profile
