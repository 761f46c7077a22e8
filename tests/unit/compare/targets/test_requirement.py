"""What a threshold is, and when a figure reaches it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import pytest

from compare.metrics.cells import Cell
from compare.statistics.verdict import Verdict
from compare.targets.evidence import Evidence
from compare.targets.figures import metric
from compare.targets.reach import always
from compare.targets.requirement import (
    Bound,
    InEachScenario,
    Judgement,
    at_least,
    at_most,
    best_peer,
    between,
    of_reference,
    worst,
)
from tests.support.results import made_cells, made_scenario

GOODPUT = metric("goodput")


REQUIREMENT = InEachScenario("r", "", "Mbit/s", ("s",), GOODPUT, at_least(0), always(1e9))


def judged(values: Sequence[float], bound: Bound | None, failed: int = 0) -> Judgement:
    return Judgement.of(REQUIREMENT, "s", "ndm", dict(enumerate(values, 1)), bound, failed)


def evidence(values: Mapping[str, Sequence[float]], failed: Mapping[str, int] | None = None) -> Evidence:
    """values: scheme to goodput per seed."""
    of_schemes: dict[str, dict[str, Sequence[float | None]]] = {name: {"goodput": v} for name, v in values.items()}
    cells = made_cells(made_scenario("s"), of_schemes | {name: {} for name in failed or {}}, failed)
    return Evidence(cells)


@pytest.mark.parametrize(
    ("bound", "value", "holds", "margin"),
    [
        (Bound(low=10), 10, True, 0),
        (Bound(low=10), 9, False, -0.1),
        (Bound(low=10), 12, True, 0.2),
        (Bound(high=4), 4, True, 0),
        (Bound(high=4), 5, False, -0.25),
        (Bound(high=4, strict=True), 4, False, 0),
        (Bound(high=4, strict=True), 3.9, True, 0.025),
        (Bound(0.5, 1.5), 0.5, True, 0),
        (Bound(0.5, 1.5), 1.8, False, -0.2),
        (Bound(0.5, 1.5), 0.25, False, -0.5),
        (Bound(high=0), 0, True, 0),
        (Bound(high=0), 3, False, -math.inf),
        (Bound(low=0), 3, True, math.inf),
        (Bound(low=-2), -3, False, -0.5),
    ],
)
def test_a_bound(bound: Bound, value: float, holds: bool, margin: float) -> None:
    assert bound.holds(value) is holds
    assert bound.margin(value) == pytest.approx(margin)


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Bound(low=95), "≥ 95"),
        (Bound(high=5), "≤ 5"),
        (Bound(high=1.5, source="bbr", strict=True), "< 1.5 (bbr)"),
        (Bound(0.5, 1.5), "0.5 to 1.5"),
        (Bound(high=0), "≤ 0"),
    ],
)
def test_how_a_bound_is_written(bound: Bound, text: str) -> None:
    assert str(bound) == text


@pytest.mark.parametrize(
    ("judgement", "met", "verdict"),
    [
        (judged([10, 10, 10], Bound(low=9)), True, "met"),
        (judged([8, 8, 8], Bound(low=10)), False, "missed by 20 %"),
        (judged([9.99] * 3, Bound(low=10)), False, "missed by 0.1 %"),
        (judged([9, 10, 12], Bound(low=10)), "open", "open"),
        (judged([9, 9.5, 10.5], Bound(low=10)), "open", "open, 3.33 % beyond"),
        (judged([10, 10, 11], Bound(low=10)), True, "met"),
        (judged([10, 10, 11], Bound(low=10, strict=True)), "open", "open"),
        (judged([4, 4, 4], Bound(high=4, strict=True)), False, "missed by 0 %"),
        (judged([3, 3], Bound(high=0)), False, "missed by 3 Mbit/s"),
        (judged([10], None), None, "not measured"),
        (judged([], Bound(low=1)), None, "not measured"),
        (judged([], Bound(low=1), failed=2), False, "missed: 2 of 2 runs failed"),
        (judged([10, 10, 10], Bound(low=9), failed=1), True, "met; 1 failed"),
    ],
)
def test_a_verdict(judgement: Judgement, met: bool | Literal["open"] | None, verdict: str) -> None:
    assert judgement.verdict is (Verdict.OPEN if met == "open" else Verdict.of(met))
    assert judgement.statement == verdict


def test_bound_inside_the_interval_is_open() -> None:
    assert judged([1.0, 1.1, 1.2], Bound(0.5, 1.5)).verdict is Verdict.MET
    assert judged([1.2, 1.4, 1.7], Bound(0.5, 1.5)).verdict is Verdict.OPEN
    assert judged([2.0, 2.1, 2.2], Bound(0.5, 1.5)).verdict is Verdict.MISSED
    # two seeds have no interval
    assert judged([1.2, 1.7], Bound(0.5, 1.5)).verdict is Verdict.MET


def test_seeds_are_paired_with_those_of_the_threshold() -> None:
    """Seeds that are hard for both schemes hide no difference, and a threshold that varies decides nothing alone."""
    hard, easy = [1.0, 5.0, 9.0, 13.0], [1.1, 5.2, 9.1, 13.2]
    bound = of_reference(GOODPUT, "bbr", least=1)
    requirement = InEachScenario("r", "", "", ("s",), GOODPUT, bound, always(1e9))
    (above,) = requirement.judge(evidence({"ndm": easy, "bbr": hard}), "ndm")
    (below,) = requirement.judge(evidence({"ndm": hard, "bbr": easy}), "ndm")
    assert (above.verdict, below.verdict) == (Verdict.MET, Verdict.MISSED)
    (unsure,) = requirement.judge(evidence({"ndm": [7.5] * 4, "bbr": hard}), "ndm")
    assert (unsure.verdict, unsure.statement) == (Verdict.OPEN, "open")
    # a seed that failed for one of them is left out
    (fewer,) = requirement.judge(evidence({"ndm": [*easy, 1.0], "bbr": hard}), "ndm")
    assert fewer.verdict is Verdict.MET


def test_requirement_is_judged_by_mean_per_scenario() -> None:
    cells: list[Cell] = []
    for name, values in (("a", [10.0, 12.0]), ("b", [8.0, 9.0])):
        cells += made_cells(made_scenario(name), {"ndm": {"goodput": values}})
    requirement = InEachScenario("r", "", "Mbit/s", ("a", "b", "c"), GOODPUT, at_least(10), always(1e9))
    a, b, c = requirement.judge(Evidence(cells), "ndm")
    assert (a.figure and a.figure.mean, a.verdict) == (11.0, Verdict.MET)
    assert (b.figure and b.figure.mean, b.verdict) == (8.5, Verdict.MISSED)
    assert (c.figure, c.verdict) == (None, Verdict.NOT_MEASURED)
    unsure = judged([9, 10, 12], Bound(low=10))
    assert worst([a, b]) is b
    assert worst([a, b, c]) is c
    for judgements, verdict in (
        ([a, b], Verdict.MISSED),
        ([b, c], Verdict.MISSED),
        ([a, c], Verdict.NOT_MEASURED),
        ([a, unsure], Verdict.OPEN),
        ([c, unsure], Verdict.OPEN),
        ([b, unsure], Verdict.MISSED),
        ([a], Verdict.MET),
    ):
        assert Verdict.of_all(one.verdict for one in judgements) is verdict


def test_failed_runs_are_counted_not_judged() -> None:
    judgements = InEachScenario("r", "", "", ("s",), GOODPUT, at_most(5), always(0)).judge(
        evidence({}, {"ndm": 2}), "ndm"
    )
    assert [(one.verdict, one.failed) for one in judgements] == [(Verdict.MISSED, 2)]


def test_best_peer_has_the_highest_mean() -> None:
    measured = evidence({"ndm": [10.0], "bbr": [8.0, 13.0], "reno": [9.0], "cubic": [math.nan]})
    assert best_peer(GOODPUT)(measured, "s", "ndm") == Bound(low=10.5, source="bbr", by_seed={1: 8.0, 2: 13.0})
    assert best_peer(GOODPUT)(measured, "s", "bbr") == Bound(low=10.0, source="ndm", by_seed={1: 10.0})
    assert best_peer(GOODPUT)(evidence({"ndm": [1.0]}), "s", "ndm") is None


def test_models_windows_and_oracle_are_no_peers() -> None:
    names = ("ndm", "ndm@runs/a", "window@16", "oracle", "reno", "ndm_v1")
    measured = evidence({name: [float(value)] for value, name in enumerate(names)})
    assert [scheme.name for scheme in measured.schemes] == ["ndm", "ndm@runs/a", "reno", "ndm_v1"]
    assert measured.peers("ndm") == ["reno", "ndm_v1"]
    assert measured.peers("ndm@runs/a") == ["reno", "ndm_v1"]
    # the algorithms compete with one model: the first
    assert measured.peers("reno") == ["ndm", "ndm_v1"]
    assert measured.mean("s", "oracle", GOODPUT) == 3.0


def test_thresholds_that_come_from_another_scheme() -> None:
    measured = evidence({"ndm": [10.0], "bbr": [8.0]})
    assert of_reference(GOODPUT, "bbr", least=1.25)(measured, "s", "ndm") == Bound(
        low=10.0, source="1.25 × bbr", by_seed={1: 10.0}
    )
    assert of_reference(GOODPUT, "bbr", most=1, strict=True)(measured, "s", "ndm") == Bound(
        high=8.0, source="bbr", strict=True, by_seed={1: 8.0}
    )
    assert of_reference(GOODPUT, "cubic", most=0.25)(measured, "s", "ndm") is None
    assert between(0.5, 1.5)(measured, "s", "ndm") == Bound(0.5, 1.5)
