"""Snapshots: older policies of the learner. They compete with it on paths with `rivals: [snapshot]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from env.profile import SNAPSHOT, Profile
from export.formats.model_file import model_file


class Snapshots:
    """The newest snapshots as model files, the oldest first; empty if no path of the profile has such a rival.

    every: updates from one snapshot to the next. limit: number of snapshots, the newest.
    """

    def __init__(self, profile: Profile, every: int, limit: int) -> None:
        self.files: tuple[bytes, ...] = ()
        self._profile = profile
        self._every = every
        self._limit = limit

    def observe(self, update: int, policy: Mapping[str, Tensor]) -> None:
        """Observe the policy, a state dict, after `update` updates, and store a snapshot when one is due."""
        is_rival = any(SNAPSHOT in component.rivals for component in self._profile.paths.values())
        if is_rival and update % self._every == 0:
            file, _ = model_file(policy, f"update-{update}", self._profile.name)
            self.files = (*self.files, file)[-self._limit :]

    def state(self) -> list[bytes]:
        """Return what `restore` needs."""
        return list(self.files)

    def restore(self, state: Sequence[bytes]) -> None:
        """Continue from `state`."""
        self.files = tuple(state)
