"""Estimates of a mean and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compare.statistics.estimates import estimate, inside_spread
from env.errors import UserError


def test_interval_is_near_the_normal_one() -> None:
    values = list(np.random.default_rng(1).normal(100, 10, 200))
    estimated = estimate(values)
    half = 1.96 * np.std(values, ddof=1) / math.sqrt(200)
    assert estimated.lo == pytest.approx(estimated.mean - half, abs=0.3)
    assert estimated.hi == pytest.approx(estimated.mean + half, abs=0.3)
    assert estimated.minimum == min(values)
    assert estimated == estimate(values)


def test_interval_covers_the_mean_at_its_confidence() -> None:
    random = np.random.default_rng(2)
    covered = sum((e := estimate(list(random.exponential(1.0, 30)))).lo <= 1.0 <= e.hi for _ in range(100))
    assert 83 <= covered <= 100  # small skewed samples cover somewhat less than 95 %


def test_equal_values_have_an_interval_without_width() -> None:
    estimated = estimate([3.0, math.nan, 3.0, 3.0])
    assert (estimated.lo, estimated.mean, estimated.hi, estimated.n) == (3.0, 3.0, 3.0, 3)
    assert estimated.interval == (3.0, 3.0)


@pytest.mark.parametrize("values", [[3.0], [3.0, math.nan], [2.0, 4.0], [math.nan, 2.0, 4.0]])
def test_one_or_two_values_have_no_interval(values: list[float]) -> None:
    estimated = estimate(values)
    assert (estimated.lo, estimated.mean, estimated.hi) == (None, 3.0, None)
    assert estimated.interval is None
    assert estimated.n == sum(not math.isnan(v) for v in values)


def test_nothing_to_estimate_is_an_error() -> None:
    with pytest.raises(UserError):
        estimate([math.nan])


@pytest.mark.parametrize(("published", "inside"), [(1.0, True), (5.0, True), (3.3, True), (0.99, False), (5.01, False)])
def test_published_run_is_compared_with_the_spread(published: float, inside: bool) -> None:
    assert inside_spread(published, estimate([1.0, 3.0, 5.0])) is inside
