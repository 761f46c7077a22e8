"""Snapshots: older policies of the learner. They compete with it on paths with `rivals: [snapshot]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from env.profile import SNAPSHOT, Profile
from export.formats.model_file import model_file


class Snapshots:
    """The newest snapshots as model files, the oldest first; empty if no path of the profile has such a rival.

    every: updates between two snapshots. most: number of snapshots that are kept.
    """

    def __init__(self, profile: Profile, every: int, most: int) -> None:
        self.files: tuple[bytes, ...] = ()
        self._profile = profile
        self._every = every
        self._most = most

    def observe(self, update: int, policy: Mapping[str, Tensor]) -> None:
        """Observe the policy, a state dict, after `update` updates, and store a snapshot when one is due."""
        wanted = any(SNAPSHOT in mix.rivals for mix in self._profile.paths.values())
        if wanted and update % self._every == 0:
            file, _ = model_file(policy, f"update-{update}", self._profile.name)
            self.files = (*self.files, file)[-self._most :]

    def state(self) -> list[bytes]:
        """Return what `restore` needs."""
        return list(self.files)

    def restore(self, state: Sequence[bytes]) -> None:
        """Continue from `state`."""
        self.files = tuple(state)
