"""Requirements over many scenarios of one kind: the highest winning rate, and a bound in most of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compare.statistics.winning_rates import WinningRate, WinningRates, is_friendliness, winning_rates
from compare.targets.evidence import Evidence, Figure
from compare.targets.figures import competing_share, per_run
from compare.targets.requirement import Bound, Judgement
from env.network.scenario import Scenario

SHALLOW_BDP = 0.5  # shallower buffers lose packets in each slow start


@dataclass(frozen=True)
class HighestRate:
    """The winning rate must be at least the highest of the scheme's peers; other schemes do not count.

    kind: returns the rates of single flows or of friendliness. scenarios: the name of these scenarios in tables.
    counts: whether a scenario is one of them. least_pct: what the rate must be at least, whatever the peers have, %.
    """

    name: str
    text: str
    kind: Callable[[WinningRates], tuple[WinningRate, ...]]
    scenarios: str
    counts: Callable[[Scenario], bool] = lambda _: True
    least_pct: float = 0.0
    unit: str = "%"

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return one judgement over all scenarios, which are what seeds are elsewhere."""
        cells = [cell for cell in evidence.cells([scheme, *evidence.peers(scheme)]) if self.counts(cell.scenario)]
        rates = {rate.scheme: rate for rate in self.kind(winning_rates(cells))}
        rate = rates.pop(scheme, None)
        if rate is None or not rates:
            return [Judgement.of(self, self.scenarios, scheme, {}, None)]
        best = max(rates.values(), key=lambda peer: peer.rate.mean)
        numbers = {name: number for number, name in enumerate(sorted({*rate.counted, *best.counted}))}
        # a scenario is won or lost, 100 or 0: a share of that would count a win ten times as much as a loss
        mean = 100 * best.rate.mean
        bound = Bound(low=mean, source=best.scheme, by_seed=_won(best, numbers), scale=mean)
        if mean < self.least_pct:
            bound = Bound(low=self.least_pct)
        failed = sum(len(cell.failed) for cell in cells if cell.scheme.name == scheme)
        scenarios = f"{len(rate.counted)} {self.scenarios}"
        return [Judgement.of(self, scenarios, scheme, _won(rate, numbers), bound, failed)]


@dataclass(frozen=True)
class InMostScenarios:
    """A figure must lie within a bound in a share of the scenarios of one kind.

    scenarios: the name of these scenarios in tables. counts: whether a scenario is one of them. within: the bound of
    the mean over the seeds. least_pct: the share, %.
    """

    name: str
    text: str
    scenarios: str
    counts: Callable[[Scenario], bool]
    figure: Figure
    within: Bound
    least_pct: float
    unit: str = "%"

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return one judgement over all scenarios, which are what seeds are elsewhere."""
        cells = [cell for cell in evidence.cells([scheme]) if self.counts(cell.scenario)]
        means = [evidence.mean(cell.scenario.name, scheme, self.figure) for cell in cells]
        held = {i: 100.0 * self.within.holds(mean) for i, mean in enumerate(means) if math.isfinite(mean)}
        failed = sum(len(cell.failed) for cell in cells)
        scenarios = f"{len(held)} {self.scenarios}"
        return [Judgement.of(self, scenarios, scheme, held, Bound(low=self.least_pct), failed)]


def _is_shallow(scenario: Scenario) -> bool:
    return scenario.network_path().buffer_bdp < SHALLOW_BDP


# of a flow beside one of another scheme
LEFT = (
    InMostScenarios(
        "left",
        "the competing flow has at least half of its fair share in 95 % of the scenarios",
        "scenarios with a deep buffer",
        lambda scenario: is_friendliness(scenario) and not _is_shallow(scenario),
        per_run(competing_share),
        Bound(low=0.5),
        least_pct=95,
    ),
    InMostScenarios(
        "left_shallow",
        "the same where the buffer holds less than 0.5 BDP",
        "scenarios with a shallow buffer",
        lambda scenario: is_friendliness(scenario) and _is_shallow(scenario),
        per_run(competing_share),
        Bound(low=0.5),
        least_pct=95,
    ),
)


def _won(rate: WinningRate, numbers: Mapping[str, int]) -> dict[int, float]:
    """Return 100 for each scenario, by its number, that the scheme has won, and 0 for the others."""
    return {numbers[name]: 100.0 * (name in rate.won) for name in rate.counted}
