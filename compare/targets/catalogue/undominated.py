"""A requirement on two figures at once: no peer may be better in one and as good in the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compare.statistics.paired import compare_pairs
from compare.statistics.verdict import Verdict
from compare.targets.evidence import Evidence
from compare.targets.figures import metric
from compare.targets.requirement import Bound, Judgement

_RANK = (Verdict.NOT_MEASURED, Verdict.MISSED, Verdict.OPEN, Verdict.MET)


@dataclass(frozen=True)
class Undominated:
    """In one scenario a scheme must be better than each peer in one of two figures, or equal in both.

    more, less: metric and unit of the figure of which more is better, and of the other one. Better is decided as for
    any threshold, paired by seed; equal by two one-sided tests (compare/statistics/paired.py).
    """

    name: str
    text: str
    scenario: str
    more: tuple[str, str]
    less: tuple[str, str]
    unit: str = ""  # each judgement has that of its figure

    def judge(self, evidence: Evidence, scheme: str) -> list[Judgement]:
        """Return a judgement per peer, by the figure in which the scheme is better beside it."""
        peers = evidence.peers(scheme)
        if not peers:
            return [Judgement.of(self, self.scenario, scheme, {}, None)]
        return [self._beside(evidence, scheme, peer) for peer in peers]

    def _beside(self, evidence: Evidence, scheme: str, peer: str) -> Judgement:
        best = max(self._by_figure(evidence, scheme, peer), key=lambda one: (_RANK.index(one.verdict), one.margin))
        equal = best.verdict is not Verdict.NOT_MEASURED and self._equal(evidence, scheme, peer)
        return replace(best, verdict=Verdict.MET) if equal else best

    def _by_figure(self, evidence: Evidence, scheme: str, peer: str) -> Iterator[Judgement]:
        for (name, unit), more_is_better in ((self.more, True), (self.less, False)):
            figure = metric(name)
            of_peer = evidence.values(self.scenario, peer, figure)
            mean = sum(of_peer.values()) / max(len(of_peer), 1)
            low, high = (mean, None) if more_is_better else (None, mean)
            bound = Bound(low, high, peer, strict=True, by_seed=of_peer) if of_peer else None
            cell = evidence.cell(self.scenario, scheme)
            failed = 0 if cell is None else len(cell.failed)
            values = evidence.values(self.scenario, scheme, figure)
            yield replace(Judgement.of(self, self.scenario, scheme, values, bound, failed), unit=unit)

    def _equal(self, evidence: Evidence, scheme: str, peer: str) -> bool:
        cells = [cell for name in (scheme, peer) if (cell := evidence.cell(self.scenario, name))]
        wanted = {self.more[0], self.less[0]}
        return all(pair.equal for pair in compare_pairs(cells) if pair.metric in wanted)
