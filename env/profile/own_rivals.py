"""The rivals of a profile that the user brings: checked with the profile, and built before the first episode."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from functools import partial

from env.errors import UserError, in_context
from env.lab import VirtualLab
from env.network.own_scheme import FORM, parse_own_scheme
from env.network.schemes import SCHEMES, SEPARATOR, find_scheme
from env.own_module import OwnModule, prepare, virtual_tree
from env.own_module.source import find_source
from env.profile.episode_config import RIVALS, EpisodeConfig, OwnRival, scenario_episode_config
from env.profile.mixture import MixtureComponent, Profile


def is_own(scheme: str) -> bool:
    """Return whether a rival's name is NAME@PATH."""
    return SEPARATOR in scheme


def check_own_rival(where: str, scheme: str) -> None:
    """Raise UserError for a congestion control of the user that cannot be a rival. Builds nothing."""
    with in_context(where):
        known = find_scheme(scheme)
        if not known.source:
            raise UserError(f"{scheme!r} cannot be a rival: it is one of {', '.join(RIVALS)}, or {FORM}")
        if known.kernel:
            raise UserError(f"{scheme!r} names a kernel, but all flows of an episode have the same one")
        find_source(parse_own_scheme(scheme).path)


def own_names(profile: Profile) -> list[str]:
    """Return the names of the rivals of a profile that the user brings, each once."""
    names = (name for component in profile.paths.values() for name in _schemes_of(component) if is_own(name))
    return list(dict.fromkeys(names))


def own_rivals(profile: Profile) -> tuple[OwnRival, ...]:
    """Return the rivals of a profile that the user brings, built and loaded once.

    Raises UserError, with the compiler's lines for a source that does not build, and env.lab.LabError.
    """
    where = f"profile {profile.name}: rivals"
    rivals: list[OwnRival] = []
    for name in own_names(profile):
        with in_context(f"{where}: {name}"):
            rivals.append(OwnRival(name, _prepared(name)))
    _check_together(where, rivals)
    return tuple(rivals)


def _schemes_of(component: MixtureComponent) -> list[str]:
    if component.scenario is None:
        return component.rivals
    return [rival.scheme for rival in scenario_episode_config(component.scenario).rivals]


def with_own_rivals(config: EpisodeConfig, rivals: Iterable[OwnRival]) -> EpisodeConfig:
    """Return the episode with those of the rivals that it has."""
    schemes = {rival.scheme for rival in config.rivals}
    return config._replace(own_rivals=tuple(rival for rival in rivals if rival.scheme in schemes))


@functools.cache
def _prepared(scheme: str) -> OwnModule:
    return prepare(scheme, virtual_tree(), partial(VirtualLab, seed=1))


def _check_together(where: str, rivals: list[OwnRival]) -> None:
    """Raise UserError when a lab cannot load the modules of all rivals: it loads each when an episode needs it."""
    taken = {scheme.algorithm: name for name, scheme in SCHEMES.items()}
    files = {scheme.module: name for name, scheme in SCHEMES.items() if scheme.module}
    for rival in rivals:
        algorithm, file = rival.module.algorithm, rival.module.file.stem
        if other := taken.get(algorithm) or files.get(file):
            raise UserError(
                f"{where}: {other} and {rival.scheme} are both the congestion control {algorithm} of {file}.ko, which "
                "a kernel has once, with one set of parameters: keep one, or rename the other"
            )
        taken[algorithm] = files[file] = rival.scheme
