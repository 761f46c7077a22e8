"""Checks of a network's values. Standard library only: the guest agent imports this module."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from env.errors import UserError, suggest


def check_number(name: str, value: Any, low: float, high: float, whole: bool = False) -> None:
    """Raise UserError unless the value is a number from low to high; whole: an integer."""
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or math.isnan(value):
        raise UserError(f"{name} is {value!r}; it must be {kind} from {low:g} to {high:g}")
    if not low <= value <= high:
        raise UserError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}")


def check_bool(name: str, value: Any) -> None:
    """Raise UserError unless the value is true or false."""
    if not isinstance(value, bool):
        raise UserError(f"{name} is {value!r}; it must be true or false")


def check_fields(kind: type[Any], what: str, keys: Iterable[str]) -> None:
    """Raise UserError, with near matches and all fields, unless all keys are fields of the dataclass.

    what: the dataclass's name in the message.
    """
    known = [field.name for field in fields(kind)]
    for key in keys:
        if key not in known:
            hint = suggest(key, known, limit=1)
            raise UserError(f"{key!r} is not a field of a {what}{hint}The fields are {', '.join(known)}")
