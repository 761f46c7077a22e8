"""The interval of a mean over training seeds, each with several runs: a hierarchical bootstrap.

Runs of one model are not independent trials of its recipe: what a training would make of another seed shows only in
other trainings. So training seeds are drawn first, then the runs of each (Davison and Hinkley, "Bootstrap Methods and
their Application", 1997, section 3.8). The interval is that of the percentiles; with fewer than five training seeds it
is too narrow.

Shapes: T training seeds, S runs of one, R resamples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compare.statistics.estimates import BOOTSTRAP_SEED, CONFIDENCE, MIN_VALUES, RESAMPLES, Estimate


def hierarchical_estimate(values: Sequence[Sequence[float]]) -> Estimate:
    """Return the mean over the training seeds of the mean over their runs, with its 95 % interval.

    values: a sequence per training seed with a value per run, not empty. Fewer than MIN_VALUES training seeds have no
    interval.
    """
    runs = [np.asarray(of_one, dtype=np.float64) for of_one in values]
    means = np.array([of_one.mean() for of_one in runs])  # (T,)
    mean, low, high = float(means.mean()), float(means.min()), float(means.max())
    if means.size < MIN_VALUES:
        return Estimate(mean, None, None, low, high, means.size)
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = rng.integers(means.size, size=(RESAMPLES, means.size))  # (R, T) training seeds
    resampled = np.empty(drawn.shape)
    for seed, of_one in enumerate(runs):
        chosen = drawn == seed
        resampled[chosen] = of_one[rng.integers(of_one.size, size=(np.count_nonzero(chosen), of_one.size))].mean(axis=1)
    tail = 50 * (1 - CONFIDENCE)
    lo, hi = np.percentile(resampled.mean(axis=1), (tail, 100 - tail))
    return Estimate(mean, float(lo), float(hi), low, high, means.size)
