"""Paired comparisons of schemes: t-tests, Holm's correction, winners."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from compare.metrics.metric import Metric
from compare.statistics.estimates import CONFIDENCE
from compare.statistics.paired import PairedComparison, compare_pairs, comparisons_csv, holm
from compare.statistics.winners import winning_schemes
from tests.support.results import GOODPUT, made_cells, made_scenario

SCENARIO = made_scenario("bottleneck")


def compared(**values: list[float | None]) -> list[PairedComparison]:
    """One metric, goodput, of some schemes."""
    return compare_pairs(made_cells(SCENARIO, {scheme: {"goodput": goodputs} for scheme, goodputs in values.items()}))


def test_a_pair_by_hand() -> None:
    # differences 1, 2, 3: mean 2, deviation 1, t = 2 sqrt(3) with 2 degrees of freedom, of which
    # p = 1 - t / sqrt(2 + t^2) and t(97.5 %) = 4.30265
    (pair,) = compared(reno=[11, 22, 33], cubic=[10, 20, 30])
    t = 2 * 3**0.5
    assert (pair.scheme_a, pair.scheme_b, pair.n, pair.left_out) == ("reno", "cubic", 3, 0)
    assert pair.mean_difference == 2
    assert pair.p == pair.p_holm == pytest.approx(1 - t / (2 + t * t) ** 0.5)
    assert (pair.lo, pair.hi) == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), rel=1e-5)
    assert pair.differs is False


def test_holm_corrects_p_and_keeps_the_order() -> None:
    # of 0.01, 0.02, 0.022, 0.09: 4, 3, 2 and 1 times, but never less than one before it
    assert list(holm(np.array([0.09, 0.01, 0.022, 0.02]))) == pytest.approx([0.09, 0.04, 0.06, 0.06])
    assert list(holm(np.array([0.6, 0.5]))) == [1.0, 1.0]


def test_the_pairs_of_a_metric_are_corrected_together() -> None:
    pairs = compared(reno=[10, 11, 12, 13], cubic=[20, 21.1, 22, 23], bbr=[20, 21, 22.3, 22.8])
    assert [row.p_holm for row in pairs] == pytest.approx(holm(np.array([row.p for row in pairs])))
    assert [row.differs for row in pairs] == [True, True, False]


def test_failed_runs_are_left_out_of_pairs() -> None:
    pairs = compared(reno=[1, None, 3, 4, 5.5], cubic=[2, 3, None, 6, 7], bbr=[1, 2, 2, 4, 5])
    assert [(row.scheme_a, row.scheme_b, row.n, row.left_out) for row in pairs] == [
        ("reno", "cubic", 3, 2),
        ("reno", "bbr", 4, 1),
        ("cubic", "bbr", 4, 1),
    ]
    assert pairs[0].mean_difference == pytest.approx((-1 - 2 - 1.5) / 3)


def test_what_does_not_vary_has_no_p() -> None:
    same, other, third = compared(reno=[5, 5, 5], cubic=[5, 5, 5], bbr=[6, 6, 6])
    assert (same.p, same.p_holm, same.differs, (same.lo, same.hi)) == (None, None, False, (0, 0))
    assert (other.p, other.differs, third.differs, (other.lo, other.hi)) == (None, True, True, (-1, -1))


def test_two_seeds_say_nothing() -> None:
    (pair,) = compared(reno=[1, 2], cubic=[3, 9])
    assert (pair.mean_difference, pair.n) == (-4.5, 2)
    assert (pair.lo, pair.hi, pair.p, pair.p_holm, pair.differs) == (None, None, None, None, None)


def test_equality_is_shown_not_assumed() -> None:
    """Two one-sided tests by hand: the difference is 0 +- 1 with a standard error of 1/sqrt(3), the margin 5."""
    (pair,) = compared(reno=[99, 100, 101], cubic=[100, 100, 100])
    assert pair.p_equal == pytest.approx(stats.t.sf(5 * 3**0.5, 2))
    assert (pair.differs, pair.equal) == (False, True)
    # neither different nor equal: too few seeds for so much noise
    (unsure,) = compared(reno=[90, 100, 110], cubic=[100, 100, 100])
    assert (unsure.differs, unsure.equal) == (False, False)
    # different, and equal to within 5 %
    (close,) = compared(reno=[101, 101.1, 101.2], cubic=[100, 100, 100])
    assert (close.differs, close.equal) == (True, True)
    same, other, _ = compared(reno=[5, 5, 5], cubic=[5, 5, 5], bbr=[6, 6, 6])
    assert (same.equal, other.equal) == (True, False)
    (two,) = compared(reno=[1, 2], cubic=[1, 2])
    assert two.equal is None


def test_no_common_seed_is_no_comparison() -> None:
    assert compared(reno=[1, None], cubic=[None, 2]) == []


def test_ten_seeds_of_nine_schemes_can_differ() -> None:
    """The smallest p must survive the correction for 36 pairs: with ten seeds a permutation's would be 0.07."""
    rows = {name: list(np.arange(10) % 3 + 10.0 * i) for i, name in enumerate(_NINE)}
    rows["reno"] = list(np.random.default_rng(1).normal(-10, 1, 10))
    assert {row.differs for row in compared(**rows)} == {True}


_NINE = ("cubic", "bbr", "nv", "cdg", "vegas", "westwood", "illinois", "dctcp", "reno")


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.normal(10, 1, (9, 10)),
        lambda random: random.lognormal(0, 1, (9, 10)),
        lambda random: random.poisson(0.5, (9, 10)).astype(float),
        lambda random: random.normal(0, 1, (9, 10)) * np.array([[0.01, 0.1, 0.3, 1, 1, 1, 3, 10, 30]]).T,
    ],
    ids=["normal", "heavy-tailed", "small counts", "unequal deviations"],
)
def test_equal_schemes_rarely_differ(draw: Callable[[np.random.Generator], np.ndarray]) -> None:
    """Of 200 experiments of nine equal schemes, 5 % (and three deviations, 4.6 %) may find any difference at all."""
    random = np.random.default_rng(3)
    wrong = 0
    for _ in range(200):
        values = draw(random)
        wrong += any(
            row.differs for row in compared(**{name: list(row) for name, row in zip(_NINE, values, strict=True)})
        )
    assert wrong <= 0.096 * 200


def test_skewed_scheme_differs_too_often() -> None:
    """What the module says of itself: equal means, and a difference in up to a quarter of the experiments."""
    random = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        values = random.lognormal(0, 1, (9, 10)) - np.exp(0.5)
        values[:3] = random.normal(0, 0.05, (3, 10))
        wrong += any(
            row.differs for row in compared(**{name: list(row) for name, row in zip(_NINE, values, strict=True)})
        )
    assert 0.15 < wrong / 200 < 0.35


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e3, 1e3).map(lambda v: round(v, 3))] * 3), min_size=3, max_size=12))
def test_it_agrees_with_scipy_and_turns_round(rows: list[tuple[float, float, float]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    forward = compared(reno=columns[0], cubic=columns[1], bbr=columns[2])
    backward = compared(bbr=columns[2], cubic=columns[1], reno=columns[0])
    turned = {(row.scheme_b, row.scheme_a): row for row in backward}
    for row, (i, j) in zip(forward, itertools.combinations(range(3), 2), strict=True):
        other = turned[row.scheme_a, row.scheme_b]
        assert other.mean_difference == -row.mean_difference
        assert (other.p is None) == (row.p is None)
        if row.p is None or row.p_holm is None:
            continue
        assert row.p == pytest.approx(stats.ttest_rel(columns[i], columns[j]).pvalue, rel=1e-6)
        expected = stats.ttest_rel(columns[i], columns[j]).confidence_interval(CONFIDENCE)
        assert (row.lo, row.hi) == pytest.approx((expected.low, expected.high), abs=1e-6, rel=1e-6)
        assert row.p <= row.p_holm <= 1
        assert other.p_holm == pytest.approx(row.p_holm)


def test_best_scheme_and_its_equals_win() -> None:
    cells = made_cells(
        SCENARIO,
        {
            "reno": {"goodput": [10.0, 11.0, 12.0, 13.0]},
            "cubic": {"goodput": [20.0, 21.1, 22.0, 23.0]},
            "bbr": {"goodput": [20.0, 21.0, 22.3, 22.8]},
        },
    )
    pairs = compare_pairs(cells)
    assert winning_schemes(cells, GOODPUT, pairs) == ["cubic", "bbr"]
    assert winning_schemes(cells, Metric("goodput", "", "", -1, ""), pairs) == ["reno"]
    assert winning_schemes(cells, Metric("goodput", "", "", 0, ""), pairs) == []


@pytest.mark.parametrize(
    "values",
    [
        {"reno": [1.0, 2.0], "cubic": [2.0, 3.0]},  # too few
        {"reno": [1.0, 2.0, 3.0], "cubic": [3.0, 2.0, 1.0]},  # equal means
        {"reno": [1.0, 2.0, 3.0]},  # alone
    ],
)
def test_nobody_wins_where_there_is_nothing_to_win(values: dict[str, list[float]]) -> None:
    cells = made_cells(SCENARIO, {scheme: {"goodput": goodputs} for scheme, goodputs in values.items()})
    assert winning_schemes(cells, GOODPUT, compare_pairs(cells)) == []


def test_scheme_with_mostly_failed_runs_is_left_out() -> None:
    cells = made_cells(
        SCENARIO,
        {
            "reno": {"goodput": [1.0, 2.0, 3.0]},
            "cubic": {"goodput": [None, None, 9.0]},
            "bbr": {"goodput": [2.0, 2.1, 4.0]},
        },
    )
    assert winning_schemes(cells, GOODPUT, compare_pairs(cells)) == ["reno", "bbr"]


def test_csv_has_a_row_per_pair() -> None:
    cells = made_cells(SCENARIO, {"reno": {"goodput": [11, 22, 33]}, "cubic": {"goodput": [10, 20, 30]}})
    cells += made_cells(made_scenario("stress"), {"reno": {"goodput": [1, 2]}, "cubic": {"goodput": [1, 2]}})
    rows = list(csv.reader(io.StringIO(comparisons_csv(compare_pairs(cells)))))
    assert rows == [
        [
            *("scenario", "metric", "scheme_a", "scheme_b", "mean_difference", "lo", "hi"),
            *("p", "p_holm", "n", "left_out", "p_equal"),
        ],
        [
            *("bottleneck", "goodput", "reno", "cubic", "2", "-0.484138", "4.48414"),
            *("0.0741799", "0.0741799", "3", "0", "0.870315"),
        ],
        ["stress", "goodput", "reno", "cubic", "0", "", "", "", "", "2", "0", ""],
    ]
