"""Near matches for an unknown word: the one place that suggests what the user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.5  # similarity from which a word is suggested: finds swapped, missing and added letters


def near_matches(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return up to `limit` known words that resemble a word, the nearest first."""
    return difflib.get_close_matches(word, list(known), n=limit, cutoff=CUTOFF)


def did_you_mean(word: str, known: Iterable[str], limit: int = 3) -> str:
    """Return "did you mean a or b? ", with the space at its end; "" when no known word resembles this one."""
    near = near_matches(word, known, limit)
    return f"did you mean {' or '.join(near)}? " if near else ""


def suggest(word: str, known: Iterable[str], limit: int = 3) -> str:
    """Return ": did you mean a or b? ", or ". ": goes between "... is unknown" and "The right ones are ..."."""
    hint = did_you_mean(word, known, limit)
    return f": {hint}" if hint else ". "
