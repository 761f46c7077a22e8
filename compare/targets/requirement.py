"""A requirement: a figure, the bound that it must reach in each scenario, and the judgement: pure functions."""

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
    """The range of a figure, from low to high; None for an open side.

    source: of low and high, such as another scheme's name. strict: low and high themselves are outside.
    """

    low: float | None = None
    high: float | None = None
    source: str = ""
    strict: bool = False

    def holds(self, value: float) -> bool:
        """True for a value within the bound."""
        margin = self.margin(value)
        return margin > 0 if self.strict else margin >= 0

    def margin(self, value: float) -> float:
        """Return the distance from a value to the bound, as a share of the bound; negative outside of the bound.

        Infinite if the bound is 0 and the value is not.
        """
        margins = []
        if self.low is not None:
            margins.append(_share(value - self.low, self.low))
        if self.high is not None:
            margins.append(_share(self.high - value, self.high))
        return min(margins)

    def __str__(self) -> str:
        low, high = ("" if end is None else number(end) for end in (self.low, self.high))
        if low and high:
            text = f"{low} to {high}"
        elif low:
            text = f"> {low}" if self.strict else f"≥ {low}"
        else:
            text = f"< {high}" if self.strict else f"≤ {high}"
        return f"{text} ({self.source})" if self.source else text


def _share(difference: float, bound: float) -> float:
    if bound:
        return difference / abs(bound)
    return math.copysign(math.inf, difference) if difference else 0.0


@dataclass(frozen=True)
class Judgement:
    """Whether one scheme meets a requirement in one scenario.

    figure: over the seeds; None without a value. bound: None if its source was not measured. failed: number of failed
    runs.
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
        """Whether the mean lies within the bound. If every run failed, the requirement is missed."""
        if self.bound is None or (self.figure is None and not self.failed):
            return Verdict.NOT_MEASURED
        return Verdict.of(self.figure is not None and self.bound.holds(self.figure.mean))

    @property
    def margin(self) -> float:
        """The distance from the mean to the bound, as a share of the bound; NaN without figure or bound."""
        return math.nan if self.bound is None or self.figure is None else self.bound.margin(self.figure.mean)

    @property
    def open(self) -> bool:
        """True if the bound lies within the interval of the mean, so that other seeds might give another verdict."""
        if self.bound is None or self.figure is None or self.figure.interval is None:
            return False
        return len({self.bound.holds(value) for value in (*self.figure.interval, self.figure.mean)}) > 1

    @property
    def statement(self) -> str:
        """The verdict in words: met, missed by a percentage, or not measured; with "open" if it is open."""
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
        """The figure with its interval, as text."""
        return "–" if self.figure is None else f"{number(self.figure.mean)} ({interval(self.figure)})"


def _percent(share: float) -> str:
    """Return a share as a percentage with enough digits to be above 0."""
    percent = 100 * share
    return f"{percent:.2g} %" if percent < 1 else f"{number(percent)} %"


class Requirement(Protocol):
    """A requirement of a target."""

    @property
    def name(self) -> str:
        """Its short name in lists and files."""

    @property
    def text(self) -> str:
        """The requirement in words."""

    @property
    def unit(self) -> str:
        """The unit of the figure."""

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return a judgement per scenario."""


@dataclass(frozen=True)
class InEachScenario:
    """A figure must reach a bound in each of several scenarios.

    bound: returns the bound for a scenario and a scheme; None if its source was not measured.
    """

    name: str
    text: str
    unit: str
    scenarios: tuple[str, ...]
    figure: Figure
    bound: Callable[[Evidence, str, str], Bound | None]

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return a judgement per scenario."""
        judgements = []
        for scenario in self.scenarios:
            cell = evidence.cell(scenario, scheme)
            figure = evidence.estimate(scenario, scheme, self.figure)
            bound = self.bound(evidence, scenario, scheme)
            failed = 0 if cell is None else len(cell.failed)
            judgements.append(Judgement(self.name, scenario, scheme, self.unit, figure, bound, failed))
        return judgements


def at_least(value: float) -> Callable[[Evidence, str, str], Bound]:
    """Return a constant lower bound."""
    return lambda *_: Bound(low=value)


def at_most(value: float) -> Callable[[Evidence, str, str], Bound]:
    """Return a constant upper bound."""
    return lambda *_: Bound(high=value)


def between(low: float, high: float) -> Callable[[Evidence, str, str], Bound]:
    """Return a constant range."""
    return lambda *_: Bound(low, high)


def best_peer(figure: Figure) -> Callable[[Evidence, str, str], Bound | None]:
    """Return a lower bound: the highest mean of the scheme's peers."""

    def bound(evidence: Evidence, scenario: str, scheme: str) -> Bound | None:
        means = {peer: evidence.mean(scenario, peer, figure) for peer in evidence.peers(scheme)}
        means = {peer: mean for peer, mean in means.items() if math.isfinite(mean)}
        if not means:
            return None
        best = max(means, key=lambda peer: means[peer])
        return Bound(low=means[best], source=best)

    return bound


def not_worst(
    figure: Figure, others: Sequence[str], *, factor: float = 1.0, more_is_better: bool = True
) -> Callable[[Evidence, str, str], Bound | None]:
    """Return a bound: the worst mean of the others in the same scenario, times the factor.

    A scheme within it is not the last of all. None unless all others were measured.
    """

    def bound(evidence: Evidence, scenario: str, _: str) -> Bound | None:
        means = {other: evidence.mean(scenario, other, figure) for other in others}
        if not all(map(math.isfinite, means.values())):
            return None
        worst_other = (min if more_is_better else max)(means, key=lambda other: means[other])
        value = factor * means[worst_other]
        source = worst_other if factor == 1 else f"{factor:g} × {worst_other}"
        return Bound(low=value, source=source) if more_is_better else Bound(high=value, source=source)

    return bound


def of_reference(
    figure: Figure, reference: str, *, least: float | None = None, most: float | None = None, strict: bool = False
) -> Callable[[Evidence, str, str], Bound | None]:
    """Return a bound: another scheme's mean in the same scenario, times least (lower bound) or most (upper bound)."""

    def bound(evidence: Evidence, scenario: str, _: str) -> Bound | None:
        mean = evidence.mean(scenario, reference, figure)
        if not math.isfinite(mean):
            return None
        factor = least if least is not None else most
        source = reference if factor == 1 else f"{factor:g} × {reference}"
        return Bound(
            None if least is None else least * mean, None if most is None else most * mean, source=source, strict=strict
        )

    return bound


def worst(judgements: Sequence[Judgement]) -> Judgement:
    """Return the judgement furthest from being met: not measured, else without a figure, else with the least margin."""
    return min(
        judgements,
        key=lambda judgement: (
            judgement.verdict is not Verdict.NOT_MEASURED,
            judgement.figure is not None,
            judgement.margin if judgement.figure and judgement.bound else 0.0,
        ),
    )
