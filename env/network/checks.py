"""What values of a network are checked with. Standard library only: the guest agent imports this module."""

from __future__ import annotations

import math
from typing import Any


class PathError(ValueError):
    """A network that cannot be built; the message names the bad value and the right ones."""


def check_number(name: str, value: Any, low: float, high: float, whole: bool = False) -> None:
    """Raise PathError when the value is no number from low to high, or (whole) not a whole one."""
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or not math.isfinite(value):
        raise PathError(f"{name} is {value!r}; it must be {kind} from {low:g} to {high:g}")
    if not low <= value <= high:
        raise PathError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}")


def check_bool(name: str, value: Any) -> None:
    """Raise PathError when the value is neither true nor false."""
    if not isinstance(value, bool):
        raise PathError(f"{name} is {value!r}; it must be true or false")
