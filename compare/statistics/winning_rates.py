"""Winning rates over a set of scenarios, as in Sage.

Sage is by Yen, Abbasloo and Chao, "Computers Can Learn from the Heuristic Designs and Master Internet Congestion
Control", SIGCOMM 2023; ccBench is its authors' code (github.com/Soheil-ab/ccBench). Each scheme has a score in each
scenario, and wins if the score is within 10 % of the best. The winning rate is the share of scenarios that a scheme
wins, separately for three kinds:

    single flow     goodput^2 / delay, greater is better
    friendliness    another scheme competes: the share of the flow under test lies in a band around the fair share. The
                    band is as wide as the smallest distance of all schemes, and 10 % of its ends wider: the rule of
                    ccBench (league-piecewise-2flows.py), without its rounding to whole Mbit/s
    closeness       another scheme competes: |fair share - goodput|, smaller is better: the rule of Sage's text

Delay is the mean of Linux's smoothed RTT. A scheme's score is the mean over its seeds.

Scores do not count retransmissions. So each rate has its cost, the median of retransmits_per_mb over the scenarios: in
scenarios of little goodput a mean would be a few large numbers. A second rate compares without the schemes that
retransmit more than RETRANSMITS_LIMIT in a scenario; they have lost there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from compare.metrics.cells import Cell, by_scenario
from compare.metrics.metric import Floats, finite_mean
from compare.metrics.sharing import SHARE
from compare.statistics.estimates import Estimate, estimate
from compare.statistics.numbers import number
from env.network.scenario import Scenario

MARGIN = 0.1
RETRANSMITS_LIMIT = 100.0  # per MB, which has 690 full packets
WIN_CONDITIONS = {
    "single flow": f"goodput² over mean RTT is at most {100 * MARGIN:.0f} % below the best scheme's",
    "friendliness": f"its share lies within the fair share ± the smallest distance of all schemes, or at most "
    f"{100 * MARGIN:.0f} % beyond (ccBench)",
    "closeness": f"its distance from the fair share is at most {100 * MARGIN:.0f} % above the smallest",
}
COST_HEADS = ("Retransmits per MB", f"Winning rate up to {RETRANSMITS_LIMIT:.0f} per MB, %")
COST_NOTE = (
    f"Retransmits per MB: the median over the counted scenarios. The last column leaves out the schemes with more than "
    f"{RETRANSMITS_LIMIT:.0f} in a scenario; they have lost there."
)


@dataclass(frozen=True)
class WinningRate:
    """The share of the counted scenarios that a scheme won, with the bootstrap interval over the scenarios.

    counted: the scenarios where the scheme has a score, or where all its runs failed, which counts as lost.
    retransmits_per_mb: of the first flow under test, mean over the seeds, median over the counted scenarios; NaN
    without a value. rate_within_limit: the rate without the schemes above RETRANSMITS_LIMIT, over the same scenarios.
    """

    scheme: str
    rate: Estimate
    won: tuple[str, ...]
    counted: tuple[str, ...]
    retransmits_per_mb: float
    rate_within_limit: float

    @property
    def costs(self) -> tuple[str, str]:
        """The entries below COST_HEADS."""
        cost = self.retransmits_per_mb
        return number(cost) if math.isfinite(cost) else "–", number(100 * self.rate_within_limit)


@dataclass(frozen=True)
class WinningRates:
    """The rates of all schemes, best first; empty without a scenario of the kind."""

    single_flow: tuple[WinningRate, ...]
    friendliness: tuple[WinningRate, ...]
    closeness: tuple[WinningRate, ...]


def winning_rates(cells: Sequence[Cell]) -> WinningRates:
    """Return the winning rates of all schemes over the scenarios of an experiment.

    The oracle is left out: a search in the same scenario finds it, so it is only a bound.
    """
    competing = [cell for cell in cells if not cell.scheme.is_oracle]
    alone = [cell for cell in competing if is_single_flow(cell.scenario)]
    beside = [cell for cell in competing if is_friendliness(cell.scenario)]
    return WinningRates(
        _rates(alone, single_flow_scores, lambda scores: best_schemes(_means(scores), better=1)),
        _rates(beside, shares, schemes_in_band),
        _rates(beside, distances, lambda scores: best_schemes(_means(scores), better=-1)),
    )


def is_single_flow(scenario: Scenario) -> bool:
    """True if the scenario is one bulk flow."""
    return len(scenario.flows) == 1 and (scenario.flows[0].count, scenario.flows[0].kind) == (1, "bulk")


def is_friendliness(scenario: Scenario) -> bool:
    """True if all flows are bulk flows, some of the scheme under test and some of other schemes."""
    return {flow.kind for flow in scenario.flows} == {"bulk"} and len({flow.scheme for flow in scenario.flows}) > 1


def single_flow_scores(cell: Cell) -> Floats:
    """Return goodput^2 / mean RTT per run, (Mbit/s)^2 / ms."""
    goodput, rtt = np.array(cell.values.get("goodput", [])), np.array(cell.values.get("rtt_mean", []))
    # a run that received nothing has no RTT sample; its score is 0, the worst
    return np.where(goodput > 0, goodput**2 / rtt, 0.0)


def distances(cell: Cell) -> Floats:
    """Return the distance of the flows under test from their fair share per run, Mbit/s."""
    return np.array(cell.values.get("fair_share_gap", []))


def shares(cell: Cell) -> Floats:
    """Return goodput over fair share of the flows under test per run."""
    return np.array(next((values for name, values in cell.values.items() if name.startswith(SHARE)), []))


def schemes_in_band(of_schemes: Mapping[str, Floats]) -> list[str]:
    """Return the schemes whose mean share lies in the band that the module's text describes; shares by scheme."""
    nearest = min(float(np.abs(1 - values).mean()) for values in of_schemes.values())
    low, high = (1 - MARGIN) * (1 - nearest), (1 + MARGIN) * (1 + nearest)
    return [scheme for scheme, share in _means(of_schemes).items() if low <= share <= high]


def best_schemes(scores: Mapping[str, float], better: int) -> list[str]:
    """Return the schemes whose score is at most MARGIN worse than the best.

    scores: none is negative. better: 1 if greater is better, -1 if smaller is.
    """
    if better > 0:
        return [scheme for scheme, score in scores.items() if score >= (1 - MARGIN) * max(scores.values())]
    return [scheme for scheme, score in scores.items() if score <= (1 + MARGIN) * min(scores.values())]


def _means(scores: Mapping[str, Floats]) -> dict[str, float]:
    return {scheme: float(values.mean()) for scheme, values in scores.items()}


def _rates(
    cells: Sequence[Cell], score: Callable[[Cell], Floats], winners: Callable[[Mapping[str, Floats]], list[str]]
) -> tuple[WinningRate, ...]:
    won: dict[str, list[str]] = {}
    won_within_limit = Counter[str]()
    counted: dict[str, list[str]] = {}
    costs: dict[str, list[float]] = {}
    for name, of_scenario in by_scenario(cells).items():
        scores = {cell.scheme.name: score(cell) for cell in of_scenario}
        scores = {scheme: values[np.isfinite(values)] for scheme, values in scores.items()}
        scores = {scheme: values for scheme, values in scores.items() if values.size}
        if len(scores) < 2:
            continue  # one scheme alone cannot win
        cost = {cell.scheme.name: finite_mean(cell.values.get("retransmits_per_mb", [])) for cell in of_scenario}
        for cell in of_scenario:
            if cell.scheme.name in scores or (cell.failed and not cell.seeds and not cell.missing):
                counted.setdefault(cell.scheme.name, []).append(name)
                costs.setdefault(cell.scheme.name, []).append(cost[cell.scheme.name])
        for scheme in winners(scores):
            won.setdefault(scheme, []).append(name)
        sparing = {scheme: values for scheme, values in scores.items() if not cost[scheme] > RETRANSMITS_LIMIT}
        won_within_limit.update(winners(sparing) if sparing else [])
    rates = []
    for scheme, names in counted.items():
        of_scheme = won.get(scheme, [])
        rate = estimate([float(name in of_scheme) for name in names])
        known = [cost for cost in costs[scheme] if math.isfinite(cost)]
        typical = median(known) if known else math.nan
        within_limit = won_within_limit[scheme] / len(names)
        rates.append(WinningRate(scheme, rate, tuple(of_scheme), tuple(names), typical, within_limit))
    return tuple(sorted(rates, key=lambda rate: -rate.rate.mean))
