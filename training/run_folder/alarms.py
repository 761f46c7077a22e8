"""Alarms for a training that collapses: exploration at its floor, or mean actions that stick to a bound.

They warn and stop nothing: either may be what the profile asks for.
"""

from __future__ import annotations

from collections.abc import Mapping

from env.schema import ACTIONS

AFTER = 10  # updates in a row: a few happen in a healthy training
STICKING = 0.5  # share of decisions at a bound
AT_FLOOR = 1.01  # exploration over its floor that counts as at it


class Alarms:
    """Follows the metrics of a training's updates.

    ``minimum_std``: the floor of exploration. ``warnings``: sentences, one for each alarm that began with the newest
    update.
    """

    def __init__(self, minimum_std: float) -> None:
        self.warnings: list[str] = []
        self._minimum_std = minimum_std
        self._rows = dict.fromkeys((f"{kind}_{action.name}" for kind in ("floor", "bound") for action in ACTIONS), 0)

    def follow(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Look at an update's metrics; returns ``alarms/...``, for how many updates in a row each has gone on."""
        self.warnings = []
        for action in ACTIONS:
            name = f"losses/std_{action.name}"
            self._count(
                f"floor_{action.name}",
                metrics[name] <= AT_FLOOR * self._minimum_std,
                f"{name} has been {metrics[name]:.3g}, its floor algo.minimum_std, for {AFTER} updates: the policy "
                "hardly explores any more; try algo.entropy=0.01 or a lower algo.learning_rate",
            )
            name = f"losses/at_bound_{action.name}"
            self._count(
                f"bound_{action.name}",
                metrics[name] >= STICKING,
                f"{name} has been at least {STICKING:g} for {AFTER} updates, now {metrics[name]:.2f}: so many mean "
                "actions are at -1 or 1; try a larger algo.bound, a lower algo.learning_rate, other profile.reward.*",
            )
        return {f"alarms/{name}": float(count) for name, count in self._rows.items()}

    def _count(self, name: str, holds: bool, warning: str) -> None:
        self._rows[name] = self._rows[name] + 1 if holds else 0
        if self._rows[name] == AFTER:
            self.warnings.append(warning)
