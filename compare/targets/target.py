"""A target: scenarios, compared schemes and requirements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compare.targets.requirement import Requirement
from env.network.scenario import Scenario


@dataclass(frozen=True)
class Target:
    """A set of scenarios and its requirements.

    make: returns the scenarios. references: schemes that are always measured, as sources of bounds or for comparison.
    sample_ms: the longest time between two samples. max_seeds: for targets with many scenarios. reported: whether it
    has a report with a page for each scenario. scored: whether it is for tuning and has a joint score (tables.py);
    targets=all leaves it out.
    """

    name: str
    title: str
    make: Callable[[], tuple[Scenario, ...]]
    references: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    sample_ms: int = 50
    max_seeds: int | None = None
    reported: bool = True
    scored: bool = False
