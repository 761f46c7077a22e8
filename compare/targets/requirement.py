"""A requirement: a figure of each scenario, what it has to reach there, and whether a scheme's does. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from compare.statistics.estimates import Estimate
from compare.statistics.numbers import interval, number
from compare.statistics.verdict import Verdict
from compare.targets.evidence import Evidence, Figure


@dataclass(frozen=True)
class Bound:
    """Where a figure has to lie: from low to high, None being no end; strict: and not at an end.

    said: what the ends are, where they are not plain numbers.
    """

    low: float | None = None
    high: float | None = None
    said: str = ""
    strict: bool = False

    def holds(self, value: float) -> bool:
        """Whether a figure does."""
        margin = self.margin(value)
        return margin > 0 if self.strict else margin >= 0

    def margin(self, value: float) -> float:
        """Return how far within its bound a figure is, as a share of the bound; below 0: how far beyond it.

        Infinite where the bound is 0 and the figure is not.
        """
        ends = []
        if self.low is not None:
            ends.append(_share(value - self.low, self.low))
        if self.high is not None:
            ends.append(_share(self.high - value, self.high))
        return min(ends)

    def __str__(self) -> str:
        low, high = ("" if end is None else number(end) for end in (self.low, self.high))
        if low and high:
            text = f"{low} to {high}"
        elif low:
            text = f"> {low}" if self.strict else f"≥ {low}"
        else:
            text = f"< {high}" if self.strict else f"≤ {high}"
        return f"{text} ({self.said})" if self.said else text


def _share(difference: float, bound: float) -> float:
    if bound:
        return difference / abs(bound)
    return math.copysign(math.inf, difference) if difference else 0.0


@dataclass(frozen=True)
class Judgement:
    """What became of a requirement in one scenario for one scheme.

    figure: over the seeds, None without a run that has one. bound: None where what decides it was not measured.
    failed: runs that failed.
    """

    requirement: str
    scenario: str
    scheme: str
    unit: str
    figure: Estimate | None
    bound: Bound | None
    failed: int = 0

    @property
    def verdict(self) -> Verdict:
        """Whether the mean lies within the bound. Where every run failed the requirement is missed."""
        if self.bound is None or (self.figure is None and not self.failed):
            return Verdict.NOT_MEASURED
        return Verdict.of(self.figure is not None and self.bound.holds(self.figure.mean))

    @property
    def margin(self) -> float:
        """How far within the bound the mean is, as a share of it; NaN where that cannot be said."""
        return math.nan if self.bound is None or self.figure is None else self.bound.margin(self.figure.mean)

    @property
    def open(self) -> bool:
        """Whether the bound lies within the interval of the mean, so that other seeds might decide otherwise."""
        if self.bound is None or self.figure is None or self.figure.interval is None:
            return False
        return len({self.bound.holds(value) for value in (*self.figure.interval, self.figure.mean)}) > 1

    @property
    def statement(self) -> str:
        """The verdict in words: met, missed by how much, not measured; "open" where the interval allows both."""
        if self.verdict is Verdict.NOT_MEASURED:
            return "not measured"
        if self.figure is None:
            return f"missed: {self.failed} of {self.failed} runs failed"
        if self.verdict is Verdict.MET:
            text = "met"
        elif math.isinf(self.margin):
            text = f"missed by {number(abs(self.figure.mean))}{f' {self.unit}' if self.unit else ''}"
        else:
            text = f"missed by {_percent(abs(self.margin))}"
        return text + (", open" if self.open else "") + (f"; {self.failed} failed" if self.failed else "")

    @property
    def shown(self) -> str:
        """The figure with its interval."""
        return "–" if self.figure is None else f"{number(self.figure.mean)} ({interval(self.figure)})"


def _percent(share: float) -> str:
    """Return a share as a percentage that is not 0 where the share is not."""
    percent = 100 * share
    return f"{percent:.2g} %" if percent < 1 else f"{number(percent)} %"


class Requirement(Protocol):
    """What can be judged."""

    @property
    def name(self) -> str:
        """Short, for lists."""

    @property
    def text(self) -> str:
        """What has to be reached."""

    @property
    def unit(self) -> str:
        """Of the figure."""

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return a judgement per scenario."""


@dataclass(frozen=True)
class InEachScenario:
    """A figure that has to reach a bound in each of several scenarios.

    bound: of scenario and scheme; None where what it comes from was not measured.
    """

    name: str
    text: str
    unit: str
    scenarios: tuple[str, ...]
    figure: Figure
    bound: Callable[[Evidence, str, str], Bound | None]

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return a judgement per scenario."""
        found = []
        for scenario in self.scenarios:
            cell = evidence.cell(scenario, scheme)
            figure = evidence.estimate(scenario, scheme, self.figure)
            bound = self.bound(evidence, scenario, scheme)
            failed = 0 if cell is None else len(cell.failed)
            found.append(Judgement(self.name, scenario, scheme, self.unit, figure, bound, failed))
        return found


def at_least(value: float) -> Callable[[Evidence, str, str], Bound]:
    """A bound that is the same everywhere."""
    return lambda *_: Bound(low=value)


def at_most(value: float) -> Callable[[Evidence, str, str], Bound]:
    """A bound that is the same everywhere."""
    return lambda *_: Bound(high=value)


def between(low: float, high: float) -> Callable[[Evidence, str, str], Bound]:
    """A bound that is the same everywhere."""
    return lambda *_: Bound(low, high)


def best_peer(figure: Figure) -> Callable[[Evidence, str, str], Bound | None]:
    """At least the highest mean of the scheme's peers."""

    def bound(evidence: Evidence, scenario: str, scheme: str) -> Bound | None:
        means = {peer: evidence.mean(scenario, peer, figure) for peer in evidence.peers(scheme)}
        means = {peer: mean for peer, mean in means.items() if math.isfinite(mean)}
        if not means:
            return None
        best = max(means, key=lambda peer: means[peer])
        return Bound(low=means[best], said=best)

    return bound


def of_reference(
    figure: Figure, reference: str, *, least: float | None = None, most: float | None = None, strict: bool = False
) -> Callable[[Evidence, str, str], Bound | None]:
    """At least, or at most, so many times another scheme's mean in the same scenario."""

    def bound(evidence: Evidence, scenario: str, _: str) -> Bound | None:
        mean = evidence.mean(scenario, reference, figure)
        if not math.isfinite(mean):
            return None
        factor = least if least is not None else most
        said = reference if factor == 1 else f"{factor:g} × {reference}"
        return Bound(
            None if least is None else least * mean,
            None if most is None else most * mean,
            said=said,
            strict=strict,
        )

    return bound


def worst(judgements: Sequence[Judgement]) -> Judgement:
    """Return the one that is furthest from being met: not measured, without a figure, then by its margin."""
    return min(
        judgements,
        key=lambda one: (
            one.verdict is not Verdict.NOT_MEASURED,
            one.figure is not None,
            one.margin if one.figure and one.bound else 0.0,
        ),
    )
