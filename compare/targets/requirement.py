"""A requirement: a figure, the bound that it must reach in each scenario, and the judgement: pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol

from compare.statistics.estimates import Estimate, estimate
from compare.statistics.numbers import interval, number
from compare.statistics.verdict import Verdict
from compare.targets.evidence import Evidence, Figure
from env.network.scenario import Scenario


@dataclass(frozen=True)
class Bound:
    """The range of a figure, from low to high; None for an open side.

    source: of low and high, such as another scheme's name. strict: low and high themselves are outside. by_seed: what
    the source has in each seed, if it is a scheme; low or high is the mean. scale: what a margin is a share of; None:
    the end itself, in a seed that of the seed.
    """

    low: float | None = None
    high: float | None = None
    source: str = ""
    strict: bool = False
    by_seed: Mapping[int, float] = field(default_factory=dict)
    scale: float | None = None

    def holds(self, value: float) -> bool:
        """True for a value within the bound."""
        return self._inside(self.distance(value))

    def distance(self, value: float) -> float:
        """Return the distance from a value to the bound; negative outside of the bound."""
        return min(distance for distance, _ in self._distances(value))

    def margin(self, value: float) -> float:
        """Return the distance from a value to the bound, as a share of the bound; negative outside of the bound.

        Infinite if the bound is 0 and the value is not.
        """
        return min(_share(distance, self.scale or end) for distance, end in self._distances(value))

    def of_seed(self, seed: int) -> Bound:
        """Return the bound in one seed; the mean where the source has no value of it."""
        value = self.by_seed.get(seed)
        if value is None:
            return self
        return Bound(
            None if self.low is None else value,
            None if self.high is None else value,
            self.source,
            self.strict,
            scale=self.scale,
        )

    def verdict(self, values: Mapping[int, float]) -> Verdict:
        """Return whether values (by seed) lie within the bound.

        The distances decide, paired by seed: MET if their mean and its 95 % interval lie within, MISSED if both lie
        outside, else OPEN. Fewer than MIN_VALUES seeds have no interval, so that the mean alone decides.
        """
        if self.by_seed and not self.by_seed.keys() & values.keys():
            return Verdict.of(self.holds(fmean(values.values())))
        distances = min(self._seeds(values), key=lambda estimate: estimate.mean)
        within = {self._inside(distance) for distance in (distances.mean, *(distances.interval or ()))}
        return Verdict.OPEN if len(within) > 1 else Verdict.of(within.pop())

    def _inside(self, distance: float) -> bool:
        return distance > 0 if self.strict else distance >= 0

    def _distances(self, value: float) -> list[tuple[float, float]]:
        """Return the distance to each end, and the end."""
        lows = [] if self.low is None else [(value - self.low, self.low)]
        return lows + ([] if self.high is None else [(self.high - value, self.high)])

    def _seeds(self, values: Mapping[int, float]) -> list[Estimate]:
        """Return the distance to each end over the seeds."""
        estimates = []
        for end, sign in ((self.low, 1), (self.high, -1)):
            if end is not None:
                ends = self.by_seed or dict.fromkeys(values, end)
                estimates.append(estimate([sign * (values[seed] - ends[seed]) for seed in values if seed in ends]))
        return estimates

    def __str__(self) -> str:
        low, high = ("" if end is None else number(end) for end in (self.low, self.high))
        if low and high:
            text = f"{low} to {high}"
        elif low:
            text = f"> {low}" if self.strict else f"≥ {low}"
        else:
            text = f"< {high}" if self.strict else f"≤ {high}"
        return f"{text} ({self.source})" if self.source else text


# the bound for a scenario and a scheme; None if its source was not measured
BoundOf = Callable[[Evidence, str, str], Bound | None]


def _share(difference: float, bound: float) -> float:
    if bound:
        return difference / abs(bound)
    return math.copysign(math.inf, difference) if difference else 0.0


@dataclass(frozen=True)
class Judgement:
    """Whether one scheme meets a requirement in one scenario.

    figure: over the seeds; None without a value. bound: None if its source was not measured. verdict: NOT_MEASURED
    without a bound, or without a run; MISSED if every run failed. failed: number of failed runs. margins: the margin by
    seed. reach: the best figure that a sender can have; None if that is not known. note: the end of the statement.
    """

    requirement: str
    scenario: str
    scheme: str
    unit: str
    figure: Estimate | None
    bound: Bound | None
    verdict: Verdict
    failed: int = 0
    margins: Mapping[int, float] = field(default_factory=dict)
    reach: float | None = None
    note: str = ""

    @classmethod
    def of(
        cls,
        requirement: Requirement,
        scenario: str,
        scheme: str,
        values: Mapping[int, float],
        bound: Bound | None,
        failed: int = 0,
        reach: float | None = None,
    ) -> Judgement:
        """Judge a requirement by its figure's values, by seed."""
        figure = estimate(list(values.values())) if values else None
        if bound is None or (figure is None and not failed):
            verdict = Verdict.NOT_MEASURED
        else:
            verdict = bound.verdict(values) if values else Verdict.MISSED
        margins = {} if bound is None else {seed: bound.of_seed(seed).margin(value) for seed, value in values.items()}
        return cls(requirement.name, scenario, scheme, requirement.unit, figure, bound, verdict, failed, margins, reach)

    @property
    def margin(self) -> float:
        """The distance from the mean to the bound, as a share of the bound; NaN without figure or bound."""
        return math.nan if self.bound is None or self.figure is None else self.bound.margin(self.figure.mean)

    @property
    def statement(self) -> str:
        """The verdict in words: met, open, missed by a percentage, or not measured; and if no sender can meet it."""
        if self.verdict is Verdict.NOT_MEASURED:
            return "not measured"
        if self.figure is None:
            return f"missed: {self.failed} of {self.failed} runs failed"
        if self.verdict is Verdict.MET:
            text = "met"
        elif self.verdict is Verdict.OPEN:
            text = "open" if self.margin >= 0 else f"open, {_percent(abs(self.margin))} beyond"
        elif math.isinf(self.margin):
            text = f"missed by {number(abs(self.figure.mean))}{f' {self.unit}' if self.unit else ''}"
        else:
            text = f"missed by {_percent(abs(self.margin))}"
        if self.bound is not None and self.reach is not None and not self.bound.holds(self.reach):
            text += "; the threshold is beyond the best that a sender can have"
        text += f"; {self.failed} failed" if self.failed else ""
        return f"{text}; {self.note}" if self.note else text

    @property
    def shown(self) -> str:
        """The figure with its interval, as text."""
        return "–" if self.figure is None else f"{number(self.figure.mean)} ({interval(self.figure)})"

    @property
    def at_best(self) -> str:
        """The best figure that a sender can have, as text."""
        return "–" if self.reach is None else number(self.reach)


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

    reach: returns the best figure that a sender can have in a scenario (compare/targets/reach.py).
    """

    name: str
    text: str
    unit: str
    scenarios: tuple[str, ...]
    figure: Figure
    bound: BoundOf
    reach: Callable[[Scenario], float]

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return a judgement per scenario."""
        judgements = []
        for scenario in self.scenarios:
            cell = evidence.cell(scenario, scheme)
            values = evidence.values(scenario, scheme, self.figure)
            bound = self.bound(evidence, scenario, scheme)
            failed = 0 if cell is None else len(cell.failed)
            reach = None if cell is None else self.reach(cell.scenario)
            judgements.append(Judgement.of(self, scenario, scheme, values, bound, failed, reach))
        return judgements


def at_least(value: float) -> BoundOf:
    """Return a constant lower bound."""
    return lambda *_: Bound(low=value)


def at_most(value: float) -> BoundOf:
    """Return a constant upper bound."""
    return lambda *_: Bound(high=value)


def between(low: float, high: float) -> BoundOf:
    """Return a constant range."""
    return lambda *_: Bound(low, high)


def best_peer(figure: Figure) -> BoundOf:
    """Return a lower bound: the values of the scheme's peer with the highest mean."""

    def bound(evidence: Evidence, scenario: str, scheme: str) -> Bound | None:
        measured = {peer: evidence.values(scenario, peer, figure) for peer in evidence.peers(scheme)}
        means = {peer: fmean(values.values()) for peer, values in measured.items() if values}
        if not means:
            return None
        best = max(means, key=lambda peer: means[peer])
        return Bound(low=means[best], source=best, by_seed=measured[best])

    return bound


def not_worst(figure: Figure, others: Sequence[str], *, factor: float = 1.0, more_is_better: bool = True) -> BoundOf:
    """Return a bound: the values of the other with the worst mean in the same scenario, times the factor.

    A scheme within it is not the last of all. None unless all others were measured.
    """

    def bound(evidence: Evidence, scenario: str, _: str) -> Bound | None:
        measured = {other: evidence.values(scenario, other, figure) for other in others}
        if not all(measured.values()):
            return None
        worst_other = (min if more_is_better else max)(measured, key=lambda other: fmean(measured[other].values()))
        return _of_scheme(worst_other, measured[worst_other], factor, low=more_is_better)

    return bound


def of_reference(
    figure: Figure, reference: str, *, least: float | None = None, most: float | None = None, strict: bool = False
) -> BoundOf:
    """Return a bound: another scheme's values in the same scenario, times least (lower bound) or most (upper bound)."""
    if (least is None) == (most is None):
        raise ValueError("a bound by another scheme has either least or most")

    def bound(evidence: Evidence, scenario: str, _: str) -> Bound | None:
        values = evidence.values(scenario, reference, figure)
        factor = most if least is None else least
        assert factor is not None
        return _of_scheme(reference, values, factor, low=least is not None, strict=strict) if values else None

    return bound


def but_within_reach(bound: BoundOf, physical: Callable[[Scenario], float], name: str) -> BoundOf:
    """Return an upper bound that no scenario's physics puts out of reach: `physical` where that is larger.

    physical: returns what a good sender can reach in a scenario. name: what it is, for the bound's source.
    """

    def within_reach(evidence: Evidence, scenario: str, scheme: str) -> Bound | None:
        asked, cell = bound(evidence, scenario, scheme), evidence.cell(scenario, scheme)
        if asked is None or asked.high is None or cell is None:
            return asked
        least = physical(cell.scenario)
        return asked if least <= asked.high else Bound(high=least, source=name, strict=asked.strict)

    return within_reach


def _of_scheme(scheme: str, values: Mapping[int, float], factor: float, *, low: bool, strict: bool = False) -> Bound:
    by_seed = {seed: factor * value for seed, value in values.items()}
    mean = fmean(by_seed.values())
    source = scheme if factor == 1 else f"{factor:g} × {scheme}"
    return Bound(mean if low else None, None if low else mean, source, strict, by_seed)


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
