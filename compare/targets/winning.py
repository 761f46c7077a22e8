"""The requirement of the winning rate: the highest of all schemes, over the scenarios of one kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compare.statistics.numbers import scaled
from compare.statistics.winning_rates import WinningRate, WinningRates, winning_rates
from compare.targets.evidence import Evidence
from compare.targets.requirement import Bound, Judgement


@dataclass(frozen=True)
class HighestRate:
    """The winning rate is at least the highest of the peers', who alone run against the scheme.

    kind: picks the rates of one flow or of friendliness; counted: what its scenarios are called.
    """

    name: str
    text: str
    kind: Callable[[WinningRates], tuple[WinningRate, ...]]
    counted: str
    unit: str = "%"

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return one judgement, over all scenarios; its figure's interval is over them."""
        peers = evidence.peers(scheme)
        rates = {rate.scheme: rate for rate in self.kind(winning_rates(evidence.cells([scheme, *peers])))}
        mine = rates.pop(scheme, None)
        if mine is None or not rates:
            return [Judgement(self.name, self.counted, scheme, self.unit, None, None)]
        best = max(rates.values(), key=lambda rate: rate.rate.mean)
        figure = scaled(mine.rate, 100)
        return [
            Judgement(
                self.name,
                f"{len(mine.counted)} {self.counted}",
                scheme,
                self.unit,
                figure,
                Bound(low=100 * best.rate.mean, said=best.scheme),
                sum(len(cell.failed) for cell in evidence.cells([scheme])),
            )
        ]
