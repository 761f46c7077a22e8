"""The requirement that a scheme's winning rate is the highest, over the scenarios of one kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compare.statistics.numbers import scaled
from compare.statistics.winning_rates import WinningRate, WinningRates, winning_rates
from compare.targets.evidence import Evidence
from compare.targets.requirement import Bound, Judgement


@dataclass(frozen=True)
class HighestRate:
    """The winning rate must be at least the highest of the scheme's peers; other schemes do not count.

    kind: returns the rates of single flows or of friendliness. scenarios: the name of these scenarios in tables.
    """

    name: str
    text: str
    kind: Callable[[WinningRates], tuple[WinningRate, ...]]
    scenarios: str
    unit: str = "%"

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return one judgement over all scenarios; the interval is over the scenarios."""
        peers = evidence.peers(scheme)
        rates = {rate.scheme: rate for rate in self.kind(winning_rates(evidence.cells([scheme, *peers])))}
        rate = rates.pop(scheme, None)
        if rate is None or not rates:
            return [Judgement(self.name, self.scenarios, scheme, self.unit, None, None)]
        best = max(rates.values(), key=lambda peer: peer.rate.mean)
        figure = scaled(rate.rate, 100)
        return [
            Judgement(
                self.name,
                f"{len(rate.counted)} {self.scenarios}",
                scheme,
                self.unit,
                figure,
                Bound(low=100 * best.rate.mean, source=best.scheme),
                sum(len(cell.failed) for cell in evidence.cells([scheme])),
            )
        ]
