"""The verdict on a claim: of a target's requirement, a published figure, a paper's statement."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Verdict(Enum):
    """Whether a claim holds; the value is what tables and files say."""

    MET = "yes"
    PARTLY = "in part"
    MISSED = "no"
    NOT_MEASURED = ""

    @classmethod
    def of(cls, holds: bool | None) -> Verdict:
        """Return the verdict on one fact; None stands for: not measured."""
        return cls.NOT_MEASURED if holds is None else cls.MET if holds else cls.MISSED

    @classmethod
    def of_parts(cls, held: Iterable[bool]) -> Verdict:
        """Return the verdict on a claim of several parts: MET when all of them hold, PARTLY when some do."""
        parts = list(held)
        return cls.MET if all(parts) else cls.PARTLY if any(parts) else cls.MISSED

    @classmethod
    def of_all(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the verdict on a requirement in several places: MISSED when it is missed in one of them."""
        parts = set(verdicts)
        for verdict in (cls.MISSED, cls.NOT_MEASURED):
            if verdict in parts:
                return verdict
        return cls.MET
