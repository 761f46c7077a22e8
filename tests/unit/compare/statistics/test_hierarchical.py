"""The bootstrap over training seeds and their runs."""

from __future__ import annotations

import numpy as np
import pytest

from compare.statistics.hierarchical import hierarchical_estimate


def test_the_mean_is_that_of_the_training_seeds() -> None:
    """A model with more runs counts as much as another."""
    estimate = hierarchical_estimate([[1.0] * 10, [2.0], [6.0, 6.0]])
    assert (estimate.mean, estimate.minimum, estimate.maximum, estimate.n) == (3.0, 1.0, 6.0, 3)
    assert estimate.interval == (1.0, 6.0)  # one draw in 27 has the same training three times


def test_many_runs_of_few_trainings_show_little() -> None:
    """With runs as the unit, the interval of these 300 values would be a tenth as wide."""
    rng = np.random.default_rng(1)
    models = [list(centre + 0.1 * rng.standard_normal(100)) for centre in (0.0, 1.0, 2.0)]
    lo, hi = hierarchical_estimate(models).interval or (0, 0)
    assert hi - lo > 1


def test_runs_count_where_the_trainings_agree() -> None:
    estimate = hierarchical_estimate([[0.0, 2.0]] * 5)
    lo, hi = estimate.interval or (0, 0)
    assert estimate.mean == 1
    # the mean of ten values of 0 or 2 with a standard deviation of 1
    assert hi - lo == pytest.approx(2 * 1.96 / 10**0.5, abs=0.25)


def test_two_trainings_have_no_interval() -> None:
    assert hierarchical_estimate([[1.0, 2.0, 3.0], [2.0]]).interval is None
