"""A scheme that is better in neither of two figures than a peer is dominated, unless the two are shown to be equal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from compare.statistics.verdict import Verdict
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.requirement import Judgement
from env.network.scenario import load_scenario
from tests.support.results import made_cells

Figures = tuple[Sequence[float], Sequence[float]]  # goodput and retransmissions per MB, by seed

BETTER, SAME, WORSE = [20.0, 20.2, 20.4], [18.0, 18.2, 18.4], [15.0, 15.2, 15.4]
FEW, MANY = [1.0, 1.01, 1.02], [2.0, 2.01, 2.02]
NOISY = [10.0, 18.0, 27.0]


def judged(ndm: Figures, **peers: Figures) -> list[Judgement]:
    values = {
        name: {"goodput": goodput, "retransmits_per_mb": per_mb}
        for name, (goodput, per_mb) in {"ndm": ndm, **peers}.items()
    }
    (requirement,) = TARGETS["stress"].requirements
    return requirement.judge(Evidence(made_cells(load_scenario("stress"), values)), "ndm")


@pytest.mark.parametrize(
    ("ndm", "reno", "verdict"),
    [
        ((BETTER, MANY), (SAME, FEW), Verdict.MET),  # more goodput
        ((WORSE, FEW), (SAME, MANY), Verdict.MET),  # fewer retransmissions
        ((WORSE, MANY), (SAME, FEW), Verdict.MISSED),
        ((SAME, MANY), (SAME, FEW), Verdict.MISSED),  # as much goodput, more retransmissions
        ((SAME, FEW), (SAME, FEW), Verdict.MET),  # equal
        ((NOISY, MANY), (SAME, FEW), Verdict.OPEN),  # too few seeds to tell
    ],
)
def test_better_in_one_or_equal_in_both(ndm: Figures, reno: Figures, verdict: Verdict) -> None:
    (judgement,) = judged(ndm, reno=reno)
    assert judgement.verdict is verdict


def test_each_peer_is_judged_by_the_figure_that_speaks_for_the_scheme() -> None:
    over_reno, over_bbr = judged((SAME, FEW), reno=(WORSE, FEW), bbr=(BETTER, MANY))
    assert (over_reno.unit, str(over_reno.bound)) == ("Mbit/s", "> 15.2 (reno)")
    assert (over_bbr.unit, str(over_bbr.bound)) == ("1/MB", "< 2.01 (bbr)")
    (alone,) = judged((SAME, FEW))
    assert alone.verdict is Verdict.NOT_MEASURED


def test_it_has_forty_seeds_whatever_is_asked_for() -> None:
    assert (TARGETS["stress"].seeds_of(3), TARGETS["queues"].seeds_of(20), TARGETS["loss"].seeds_of(20)) == (40, 5, 20)
