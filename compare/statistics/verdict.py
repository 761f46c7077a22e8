"""The verdict on a claim: a target's requirement, a published figure, or a paper's statement."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Verdict(Enum):
    """Whether a claim holds. The value is the word in tables and files."""

    MET = "yes"
    OPEN = "open"  # its interval does not decide: counts as not met
    PARTLY = "in part"
    MISSED = "no"
    NOT_MEASURED = ""

    @classmethod
    def of(cls, holds: bool | None) -> Verdict:
        """Return the verdict on one fact; None means not measured."""
        return cls.NOT_MEASURED if holds is None else cls.MET if holds else cls.MISSED

    @classmethod
    def of_all(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the verdict on a requirement in several scenarios: MISSED if it is missed in one, MET only in all."""
        verdicts = set(verdicts)
        return next((one for one in (cls.MISSED, cls.OPEN, cls.NOT_MEASURED) if one in verdicts), cls.MET)
