"""Winning rates over a set of scenarios, as in Sage.

Sage is by Yen, Abbasloo and Chao, "Computers Can Learn from the Heuristic Designs and Master Internet Congestion
Control", SIGCOMM 2023. Each scheme has a score in each scenario; it wins if its score is at most 10 % worse than the
best. The winning rate is the share of scenarios that a scheme wins, separately for two kinds of scenario:

    single flow                             goodput^2 / delay, greater is better
    friendliness (another scheme competes)  |fair share - goodput|, smaller is better

Delay is the mean of Linux's smoothed RTT. A scheme's score is the mean over its seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.metrics.cells import Cell, by_scenario
from compare.statistics.estimates import Estimate, estimate
from env.network.scenario import Scenario

MARGIN = 0.1
WIN_CONDITIONS = {
    "single flow": f"goodput² over mean RTT is at most {100 * MARGIN:.0f} % below the best scheme's",
    "friendliness": f"its distance from the fair share is at most {100 * MARGIN:.0f} % above the smallest",
}


@dataclass(frozen=True)
class WinningRate:
    """The share of the counted scenarios that a scheme won, with the bootstrap interval over the scenarios.

    counted: the scenarios where the scheme has a score, or where all its runs failed, which counts as lost.
    """

    scheme: str
    rate: Estimate
    won: tuple[str, ...]
    counted: tuple[str, ...]


@dataclass(frozen=True)
class WinningRates:
    """The rates of all schemes, best first; empty without a scenario of the kind."""

    single_flow: tuple[WinningRate, ...]
    friendliness: tuple[WinningRate, ...]


def winning_rates(cells: Sequence[Cell]) -> WinningRates:
    """Return the winning rates of all schemes over the scenarios of an experiment.

    The oracle is left out: a search in the same scenario finds it, so it is only a bound.
    """
    competing = [cell for cell in cells if not cell.scheme.is_oracle]
    return WinningRates(
        _rates(competing, is_single_flow, single_flow_score, better=1),
        _rates(competing, is_friendliness, friendliness_score, better=-1),
    )


def is_single_flow(scenario: Scenario) -> bool:
    """True if the scenario is one bulk flow."""
    return len(scenario.flows) == 1 and (scenario.flows[0].count, scenario.flows[0].kind) == (1, "bulk")


def is_friendliness(scenario: Scenario) -> bool:
    """True if all flows are bulk flows, some of the scheme under test and some of other schemes."""
    return {flow.kind for flow in scenario.flows} == {"bulk"} and len({flow.scheme for flow in scenario.flows}) > 1


def single_flow_score(cell: Cell) -> float:
    """Return goodput^2 / mean RTT, (Mbit/s)^2 / ms; NaN without a run."""
    goodput, rtt = np.array(cell.values.get("goodput", [])), np.array(cell.values.get("rtt_mean", []))
    # a run that received nothing has no RTT sample; its score is 0, the worst
    return _mean(np.where(goodput > 0, goodput**2 / rtt, 0.0))


def friendliness_score(cell: Cell) -> float:
    """Return the distance of the flows under test from their fair share, Mbit/s; NaN without a run."""
    return _mean(np.array(cell.values.get("fair_share_gap", [])))


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def best_schemes(scores: Mapping[str, float], better: int) -> list[str]:
    """Return the schemes whose score is at most MARGIN worse than the best.

    scores: none is negative. better: 1 if greater is better, -1 if smaller is.
    """
    if better > 0:
        return [scheme for scheme, score in scores.items() if score >= (1 - MARGIN) * max(scores.values())]
    return [scheme for scheme, score in scores.items() if score <= (1 + MARGIN) * min(scores.values())]


def _rates(
    cells: Sequence[Cell], counts: Callable[[Scenario], bool], score: Callable[[Cell], float], better: int
) -> tuple[WinningRate, ...]:
    won: dict[str, list[str]] = {}
    counted: dict[str, list[str]] = {}
    for name, of_scenario in by_scenario([cell for cell in cells if counts(cell.scenario)]).items():
        scores = {cell.scheme.name: score(cell) for cell in of_scenario}
        scores = {scheme: value for scheme, value in scores.items() if np.isfinite(value)}
        if len(scores) < 2:
            continue  # one scheme alone cannot win
        for cell in of_scenario:
            if cell.scheme.name in scores or (cell.failed and not cell.seeds and not cell.missing):
                counted.setdefault(cell.scheme.name, []).append(name)
        for scheme in best_schemes(scores, better):
            won.setdefault(scheme, []).append(name)
    rates = []
    for scheme, names in counted.items():
        of_scheme = won.get(scheme, [])
        rate = estimate([float(name in of_scheme) for name in names])
        rates.append(WinningRate(scheme, rate, tuple(of_scheme), tuple(names)))
    return tuple(sorted(rates, key=lambda rate: -rate.rate.mean))
