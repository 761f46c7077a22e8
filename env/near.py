"""Near matches for an unknown word: the one place that suggests what the user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.5  # similarity from which a word is suggested: finds swapped, missing and added letters


def near_matches(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known words that resemble a word, the nearest first, at most so many."""
    return difflib.get_close_matches(word, list(known), n=most, cutoff=CUTOFF)


def did_you_mean(word: str, known: Iterable[str], most: int = 3) -> str:
    """Return "did you mean a or b? " with the space behind it, or nothing when no known word resembles this one."""
    near = near_matches(word, known, most)
    return f"did you mean {' or '.join(near)}? " if near else ""
