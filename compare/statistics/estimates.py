"""Statistics over the seeds of one scenario, scheme and metric. Letters of shapes: S seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap

from compare.errors import CompareError
from compare.metrics.cells import Cell

CONFIDENCE = 0.95
RESAMPLES = 9999
BOOTSTRAP_SEED = 20260215  # fixed: the same runs give the same interval
MIN_VALUES = 3  # of one or two runs nothing can be said about the others


@dataclass(frozen=True)
class Estimate:
    """Mean over the seeds with its bootstrap interval [lo, hi], the spread of the seeds, and their number.

    lo, hi: None where there are less than MIN_VALUES values.
    """

    mean: float
    lo: float | None
    hi: float | None
    minimum: float
    maximum: float
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """(lo, hi), None where there is no interval."""
        return None if self.lo is None or self.hi is None else (self.lo, self.hi)


def estimate(values: Sequence[float]) -> Estimate:
    """Return mean and 95 % interval (bias-corrected and accelerated bootstrap, Efron 1987) of values, shape (S,).

    Values that are NaN (nothing to measure in that run) are left out, and n says so. Less than MIN_VALUES have no
    interval; equal ones have one without width: there is nothing to resample.

    Raises CompareError when no value is left.
    """
    finite = tuple(float(value) for value in values if np.isfinite(value))
    if not finite:
        raise CompareError("no run has a value of this metric")
    return _estimate(finite)


@functools.cache  # table, pictures and summary ask for the same
def _estimate(values: tuple[float, ...]) -> Estimate:
    finite = np.asarray(values, dtype=np.float64)
    mean, low, high = float(finite.mean()), float(finite.min()), float(finite.max())
    if finite.size < MIN_VALUES:
        return Estimate(mean, None, None, low, high, finite.size)
    if low == high:
        return Estimate(mean, mean, mean, low, high, finite.size)
    interval = bootstrap(
        (finite,),
        np.mean,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        method="BCa",
        rng=np.random.default_rng(BOOTSTRAP_SEED),
    ).confidence_interval
    return Estimate(mean, float(interval.low), float(interval.high), low, high, finite.size)


def estimate_of(cell: Cell, metric: str) -> Estimate | None:
    """Return the estimate of a cell's metric; None where no run has a value."""
    values = cell.values.get(metric, [])
    return estimate(values) if any(map(math.isfinite, values)) else None


def inside_spread(published: float, measured: Estimate) -> bool:
    """True when a published single run lies within minimum and maximum of our seeds, both included.

    The spread of the seeds, not the interval of their mean: one run is to be compared with single runs.
    """
    return measured.minimum <= published <= measured.maximum
