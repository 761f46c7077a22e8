"""Checks of a network's values. Standard library only: the guest agent imports this module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from env.errors import UserError, decimal_hint, suggest

# what others call a field: the first word of its name, and of ours
OTHER_WORDS = {"queue": "buffer", "buffer": "buffer", "delay": "rtt", "latency": "rtt"}


def check_number(name: str, value: Any, low: float, high: float, whole: bool = False) -> None:
    """Raise UserError unless the value is a number from low to high; whole: an integer."""
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or value != value:
        raise UserError(f"{name} is {value!r}; it must be {kind} from {low:g} to {high:g}{decimal_hint(value)}")
    if not low <= value <= high:
        shown = f"{value:g}" if isinstance(value, float) or abs(value) < 10**300 else "too large"
        raise UserError(f"{name} is {shown}; it must lie between {low:g} and {high:g}")


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
            raise UserError(
                f"{key!r} is not a field of a {what}{suggest_field(key, known)}The fields are {', '.join(known)}"
            )


def suggest_field(key: str, known: list[str]) -> str:
    """Return what suggest() does for a field that is unknown; a field by the meaning of its name comes first."""
    begins = OTHER_WORDS.get(str(key).partition("_")[0])
    same = [name for name in known if name.partition("_")[0] == begins]
    return suggest(same[0], same) if same else suggest(key, known, limit=1)
