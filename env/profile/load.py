"""Reads profiles: from configs/profile, or from a mapping such as Hydra's group `profile`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from env.checkout import CONFIGS
from env.config_errors import explain_config_error, read_config
from env.errors import UserError, suggest
from env.profile.checks import check_profile
from env.profile.mixture import Profile

FOLDER = CONFIGS / "profile"


def profile_names() -> list[str]:
    """Return the names of all profiles, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def load_profile(name: str) -> Profile:
    """Read and check one profile.

    Raises UserError for an unknown name, a wrong key or type (each with the right ones), or a distribution that
    gives no valid path.
    """
    file = FOLDER / f"{name}.yaml"
    if not file.is_file():
        names = profile_names()
        hint = suggest(name, names, limit=1)
        raise UserError(f"profile {name!r} is unknown{hint}The profiles are {', '.join(names)}.")
    profile = read_config(Profile, file)
    check_profile(profile)
    return profile


def profile_from_config(config: DictConfig | Mapping[str, Any]) -> Profile:
    """Return the checked profile of a mapping. Raises UserError."""
    try:
        if OmegaConf.get_type(config) is Profile:  # Hydra's group; a merge would take 0.2 s
            profile = OmegaConf.to_object(config)
        else:
            profile = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Profile), config))
    except OmegaConfBaseException as error:
        raise UserError(f"the profile's {explain_config_error(error)}") from error
    assert isinstance(profile, Profile)
    check_profile(profile)
    return profile
