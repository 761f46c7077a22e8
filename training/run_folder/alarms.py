"""Alarms for a training that collapses: exploration at its lower limit, or mean actions at a bound.

An alarm warns and stops nothing: the profile may ask for either.
"""

from __future__ import annotations

from collections.abc import Mapping

from env.schema import ACTIONS
from training.metrics import Metric

AFTER = 10  # updates in a row; fewer also happen in a healthy training
AT_BOUND = 0.5  # an update counts from this share of decisions at a bound on
AT_MINIMUM = 1.01  # an update counts up to this ratio of the exploration to its lower limit

METRICS = tuple(
    Metric(f"alarms/{kind}_{action.name}", "updates", f"number of updates in a row in which {meaning}")
    for kind, meaning in (
        ("minimum", "the exploration was at `algo.minimum_std`"),
        ("bound", f"at least a share of {AT_BOUND:g} of the mean actions was at a bound"),
    )
    for action in ACTIONS
)


class Alarms:
    """Watches the metrics of a training's updates.

    minimum_std: lower limit of the exploration. warnings: one sentence for each alarm that the newest update raised.
    """

    def __init__(self, minimum_std: float) -> None:
        self.warnings: list[str] = []
        self._minimum_std = minimum_std
        self._counts = {metric.name: 0 for metric in METRICS}

    def update(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Check an update's metrics; returns the metrics `METRICS`."""
        self.warnings = []
        for action in ACTIONS:
            name = f"charts/std_{action.name}"
            self._count(
                f"alarms/minimum_{action.name}",
                metrics[name] <= AT_MINIMUM * self._minimum_std,
                f"{name} has been {metrics[name]:.3g}, its lower limit algo.minimum_std, for {AFTER} updates: the "
                "policy hardly explores any more; try algo.entropy=0.01 or a lower algo.learning_rate",
            )
            name = f"charts/at_bound_{action.name}"
            self._count(
                f"alarms/bound_{action.name}",
                metrics[name] >= AT_BOUND,
                f"{name} has been at least {AT_BOUND:g} for {AFTER} updates, now {metrics[name]:.2f}: this share of "
                "the mean actions is at -1 or 1; try a larger algo.bound, a lower algo.learning_rate, or another "
                "profile.reward.*",
            )
        return {name: float(count) for name, count in self._counts.items()}

    def _count(self, name: str, holds: bool, warning: str) -> None:
        self._counts[name] = self._counts[name] + 1 if holds else 0
        if self._counts[name] == AFTER:
            self.warnings.append(warning)
