"""Winning rates over a set of scenarios, as Sage counts them.

Sage (Yen, Abbasloo and Chao, "Computers Can Learn from the Heuristic Designs and Master Internet Congestion Control",
SIGCOMM 2023): in each scenario every scheme has a score, and every scheme wins whose score is at most 10 % worse than
the best one. The winning rate is the share of scenarios that a scheme wins. Scenarios of a single flow and scenarios
with flows of another scheme are counted separately:

    single flow     goodput^2 / delay, greater is better
    friendliness    |fair share - goodput|, smaller is better

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
    "friendliness": f"its distance from the fair share is at most {100 * MARGIN:.0f} % above the least",
}
# A search in the same scenario finds the oracle: it is a bound for the others and takes no part.
NOT_COMPETING = ("oracle",)


@dataclass(frozen=True)
class WinningRate:
    """The winning rate of one scheme: won scenarios over counted ones, with the bootstrap interval over the scenarios.

    won: the scenarios that it won. counted: those where it has a score, or where all its runs failed, which is no win.
    """

    scheme: str
    rate: Estimate
    won: tuple[str, ...]
    counted: tuple[str, ...]


@dataclass(frozen=True)
class WinningRates:
    """The rates of all schemes, best first; empty where no scenario is of the kind."""

    single_flow: tuple[WinningRate, ...]
    friendliness: tuple[WinningRate, ...]


def winning_rates(cells: Sequence[Cell]) -> WinningRates:
    """Return the winning rates of all schemes over the scenarios of an experiment."""
    competing = [cell for cell in cells if cell.scheme.name not in NOT_COMPETING]
    return WinningRates(
        _rates(competing, is_single_flow, single_flow_score, better=1),
        _rates(competing, is_of_friendliness, friendliness_score, better=-1),
    )


def is_single_flow(scenario: Scenario) -> bool:
    """True when the scenario is one bulk flow."""
    return len(scenario.flows) == 1 and (scenario.flows[0].count, scenario.flows[0].kind) == (1, "bulk")


def is_of_friendliness(scenario: Scenario) -> bool:
    """True when the flows are bulk flows of the scheme under test and bulk flows of other schemes."""
    return {flow.kind for flow in scenario.flows} == {"bulk"} and len({flow.scheme for flow in scenario.flows}) > 1


def single_flow_score(cell: Cell) -> float:
    """Return goodput^2 / mean RTT, (Mbit/s)^2 / ms; NaN without a run."""
    goodput, rtt = np.array(cell.values.get("goodput", [])), np.array(cell.values.get("rtt_mean", []))
    # a run that received nothing has no RTT sample; its score is the worst one, 0
    return _mean(np.where(goodput > 0, goodput**2 / rtt, 0.0))


def friendliness_score(cell: Cell) -> float:
    """Return how far the flows under test are from their fair share, Mbit/s; NaN without a run."""
    return _mean(np.array(cell.values.get("fair_share_gap", [])))


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def best_schemes(scores: Mapping[str, float], better: int) -> list[str]:
    """Return the schemes whose score is at most MARGIN worse than the best; better: 1 when greater is, else -1.

    scores: at least 0.
    """
    if not scores:
        return []
    if better > 0:
        return [scheme for scheme, score in scores.items() if score >= (1 - MARGIN) * max(scores.values())]
    return [scheme for scheme, score in scores.items() if score <= (1 + MARGIN) * min(scores.values())]


def _rates(
    cells: Sequence[Cell], belongs: Callable[[Scenario], bool], score: Callable[[Cell], float], better: int
) -> tuple[WinningRate, ...]:
    won: dict[str, list[str]] = {}
    counted: dict[str, list[str]] = {}
    for name, of_scenario in by_scenario([cell for cell in cells if belongs(cell.scenario)]).items():
        scores = {cell.scheme.name: score(cell) for cell in of_scenario}
        scores = {scheme: value for scheme, value in scores.items() if np.isfinite(value)}
        if len(scores) < 2:
            continue  # a scheme alone wins nothing
        for cell in of_scenario:
            if cell.scheme.name in scores or (cell.failed and not cell.seeds and not cell.missing):
                counted.setdefault(cell.scheme.name, []).append(name)
        for scheme in best_schemes(scores, better):
            won.setdefault(scheme, []).append(name)
    rates = [
        WinningRate(
            scheme,
            estimate([float(name in won.get(scheme, [])) for name in names]),
            tuple(won.get(scheme, [])),
            tuple(names),
        )
        for scheme, names in counted.items()
    ]
    return tuple(sorted(rates, key=lambda rate: -rate.rate.mean))
