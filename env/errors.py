"""The error of a wrong input, and what its message may suggest. Standard library only: the guest imports this."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator

CUTOFF = 0.5  # similarity from which a word is suggested: finds swapped, missing and added letters


class UserError(ValueError):
    """An input or a file is wrong. The message, one paragraph, names the bad value, the right ones and the remedy.

    Commands end with status 1 and this message. A subclass exists only where code tells it from other errors.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


def printable(text: str) -> str:
    """Return a text whose control characters are written out: in a terminal they could do anything."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


@contextlib.contextmanager
def in_context(where: str, *kinds: type[Exception]) -> Iterator[None]:
    """Put where an input was given before the message of an error that is raised in the block.

    kinds: of errors, besides UserError.
    """
    named: tuple[type[Exception], ...] = (UserError, *kinds)
    try:
        yield
    except named as error:
        error.args = (f"{where}: {error}",)
        raise


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text; of an error without text, such as MemoryError(), its name."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


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


def decimal_hint(value: object) -> str:
    """Return "; decimals have a point" for a text such as 0,5, else an empty one."""
    return "; decimals have a point" if isinstance(value, str) and re.fullmatch(r"-?\d+,\d+", value) else ""
