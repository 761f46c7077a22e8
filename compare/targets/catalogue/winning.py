"""Requirements over many scenarios of one kind: the highest winning rate, and a bound in most of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.statistics.winning_rates import RETRANSMITS_LIMIT, WinningRate, is_friendliness, winning_rates
from compare.targets.evidence import Evidence, Figure
from compare.targets.requirement import Bound, Judgement
from env.network.scenario import Scenario

SHALLOW_BDP = 0.5  # shallower buffers lose packets in each slow start


@dataclass(frozen=True)
class HighestRate:
    """The winning rate must be at least the highest of the scheme's peers; other schemes do not count.

    kind: single_flow or friendliness. scenarios: the name of these scenarios in tables. counts: whether a scenario is
    one of them. least_pct: what the rate must be at least, whatever the peers have, %.
    """

    name: str
    text: str
    kind: str
    scenarios: str
    counts: Callable[[Scenario], bool]
    least_pct: float = 0.0
    unit: str = "%"

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return one judgement over all scenarios, which are what seeds are elsewhere."""
        cells = [cell for cell in evidence.cells([scheme, *evidence.peers(scheme)]) if self.counts(cell.scenario)]
        of_kind: Sequence[WinningRate] = getattr(winning_rates(cells), self.kind)
        rates = {rate.scheme: rate for rate in of_kind}
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
        judgement = Judgement.of(self, scenarios, scheme, _won(rate, numbers), bound, failed)
        cost, within_limit = rate.costs
        note = f"{cost} retransmits per MB; {within_limit} % up to {RETRANSMITS_LIMIT:.0f} per MB"
        return [replace(judgement, note=note)]


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


def kind_of(scenario: Scenario) -> str:
    """Return the kind of a path: traced, lossy, jittery or clean."""
    path = scenario.network_path()
    if path.trace:
        return "traced"
    return "lossy" if path.loss_pct else "jittery" if path.jitter_ms else "clean"


def _is_kind(kind: str) -> Callable[[Scenario], bool]:
    return lambda scenario: kind_of(scenario) == kind


def _is_beside(rival: str) -> Callable[[Scenario], bool]:
    return lambda scenario: any(flow.scheme == rival for flow in scenario.flows)


def _is_shallow(shallow: bool) -> Callable[[Scenario], bool]:
    """Select the scenarios with a competing flow whose buffer is shallow, or the others."""
    return lambda scenario: is_friendliness(scenario) and (scenario.network_path().buffer_bdp < SHALLOW_BDP) is shallow


# the scenarios of a requirement, by name
COUNTS: dict[str, Callable[[Scenario], bool]] = {
    "all": lambda _: True,
    **{kind: _is_kind(kind) for kind in ("clean", "lossy", "jittery", "traced")},
    **{rival: _is_beside(rival) for rival in ("cubic", "reno", "bbr")},
    "deep": _is_shallow(False),
    "shallow": _is_shallow(True),
}


def _won(rate: WinningRate, numbers: Mapping[str, int]) -> dict[int, float]:
    """Return 100 for each scenario, by its number, that the scheme has won, and 0 for the others."""
    return {numbers[name]: 100.0 * (name in rate.won) for name in rate.counted}
