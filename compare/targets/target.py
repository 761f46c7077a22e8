"""A target: scenarios, compared schemes and requirements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from compare.targets.requirement import Requirement
from env.network.scenario import Scenario


@dataclass(frozen=True)
class Target:
    """A set of scenarios and its requirements.

    make: returns the scenarios. references: schemes that are always measured, as sources of bounds or for comparison.
    sample_ms: the longest time between two samples. max_seeds: for targets with many scenarios. fixed_seeds: for one
    that needs more than others. reported: whether it has a report with a page for each scenario. scored: whether it is
    for tuning and has a joint score (tables.py). draw: of a target whose scenarios the judged model draws: returns
    those of a seed. targets=all leaves out both.
    """

    name: str
    title: str
    make: Callable[[], tuple[Scenario, ...]]
    references: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    sample_ms: int = 50
    max_seeds: int | None = None
    fixed_seeds: int | None = None
    reported: bool = True
    scored: bool = False
    draw: Callable[[int], tuple[Scenario, ...]] | None = None

    def seeds_of(self, asked_for: int) -> int:
        """Return the number of seeds of a comparison in which `asked_for` are asked for."""
        return self.fixed_seeds or min(asked_for, self.max_seeds or asked_for)

    @property
    def in_all(self) -> bool:
        """Whether targets=all measures this target."""
        return not self.scored and self.draw is None

    def drawn_by(self, model_sha256: str) -> Target:
        """Return the target with the scenarios that belong to a model; any other target as it is."""
        if self.draw is None:
            return self
        return replace(self, make=partial(self.draw, int(model_sha256, 16)))
