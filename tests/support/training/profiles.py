"""Profiles that ship, read once: reading one takes longer than a thousand draws from it."""

from __future__ import annotations

from functools import cache

from env.profile import PathSampler, load_profile


@cache
def sampler_of(name: str, snapshots: bool = False) -> PathSampler:
    """Return the sampler of a profile; tests share it and leave its profile as it is."""
    return PathSampler(load_profile(name), snapshots)
