from __future__ import annotations

import math

import numpy as np
import pytest

from compare.errors import CompareError
from compare.statistics.estimates import estimate, inside_spread


def test_the_interval_is_near_that_of_the_normal_distribution_and_repeats() -> None:
    values = list(np.random.default_rng(1).normal(100, 10, 200))
    found = estimate(values)
    half = 1.96 * np.std(values, ddof=1) / math.sqrt(200)
    assert found.lo == pytest.approx(found.mean - half, abs=0.3)
    assert found.hi == pytest.approx(found.mean + half, abs=0.3)
    assert found.minimum == min(values)
    assert found == estimate(values)


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    covered = sum((e := estimate(list(random.exponential(1.0, 30)))).lo <= 1.0 <= e.hi for _ in range(100))
    assert 83 <= covered <= 100  # small skewed samples cover somewhat less than 95 %


def test_equal_values_have_an_interval_without_width() -> None:
    found = estimate([3.0, math.nan, 3.0, 3.0])
    assert (found.lo, found.mean, found.hi, found.n) == (3.0, 3.0, 3.0, 3)
    assert found.interval == (3.0, 3.0)


@pytest.mark.parametrize("values", [[3.0], [3.0, math.nan], [2.0, 4.0], [math.nan, 2.0, 4.0]])
def test_one_or_two_values_have_no_interval(values: list[float]) -> None:
    found = estimate(values)
    assert (found.lo, found.mean, found.hi) == (None, 3.0, None)
    assert found.interval is None
    assert found.n == sum(not math.isnan(v) for v in values)


def test_nothing_to_estimate_is_an_error() -> None:
    with pytest.raises(CompareError):
        estimate([math.nan])


@pytest.mark.parametrize(("published", "inside"), [(1.0, True), (5.0, True), (3.3, True), (0.99, False), (5.01, False)])
def test_a_published_run_is_compared_with_the_spread_of_the_seeds(published: float, inside: bool) -> None:
    assert inside_spread(published, estimate([1.0, 3.0, 5.0])) is inside
