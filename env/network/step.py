"""A change of a path in the middle of a run. Standard library only: the guest agent imports this module."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from env.errors import UserError
from env.network.checks import check_fields, check_number

CHANGES = {"rate_mbps": (0.01, 100_000.0), "rtt_ms": (0.0, 20_000.0), "loss_pct": (0.0, 100.0)}


@dataclass(frozen=True)
class Step:
    """New values of a path from at_s on (virtual seconds since the run began); None leaves a value as it was."""

    at_s: float
    rate_mbps: float | None = None
    rtt_ms: float | None = None
    loss_pct: float | None = None

    def __post_init__(self) -> None:
        check_number("at_s of a step", self.at_s, 0.0, 1e6)
        if not self.changes():
            raise UserError(f"the step at {self.at_s:g} s changes nothing; it may change {', '.join(CHANGES)}")
        for name, value in self.changes().items():
            check_number(f"{name} of the step at {self.at_s:g} s", value, *CHANGES[name])

    def changes(self) -> dict[str, float]:
        """Return the new values by the path's fields."""
        return {name: getattr(self, name) for name in CHANGES if getattr(self, name) is not None}

    @classmethod
    def from_value(cls, value: Any) -> Step:
        """Return the step of a mapping. Raises UserError, which lists the fields, for an unknown key."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict) or "at_s" not in value:
            raise UserError(f"{value!r} is not a step; a step has at_s and at least one of {', '.join(CHANGES)}")
        check_fields(cls, "step", value)
        return cls(**value)


def check_steps(steps: tuple[Step, ...]) -> None:
    """Raise UserError unless the times of the steps rise."""
    for before, after in pairwise(steps):
        if after.at_s <= before.at_s:
            raise UserError(f"the step at {after.at_s:g} s follows one at {before.at_s:g} s; times must rise")
