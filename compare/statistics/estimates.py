"""Statistics over the seeds of one scenario, scheme and metric. Shapes: S seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap

from compare.metrics.cells import Cell
from env.errors import UserError

CONFIDENCE = 0.95
RESAMPLES = 9999
BOOTSTRAP_SEED = 20260215  # fixed, so that the same runs give the same interval
ROUNDING = 1e-9
MIN_VALUES = 3  # one or two runs show nothing about the spread


@dataclass(frozen=True)
class Estimate:
    """Mean over the seeds, its bootstrap interval [lo, hi], minimum, maximum and number of seeds.

    lo, hi: None below MIN_VALUES values.
    """

    mean: float
    lo: float | None
    hi: float | None
    minimum: float
    maximum: float
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """(lo, hi); None below MIN_VALUES values."""
        return None if self.lo is None or self.hi is None else (self.lo, self.hi)


def estimate(values: Sequence[float]) -> Estimate:
    """Return mean and 95 % interval (bias-corrected and accelerated bootstrap, Efron 1987) of values, shape (S,).

    NaN values (runs with nothing to measure) are left out, also from n. Fewer than MIN_VALUES values have no interval;
    the interval of equal values has width 0.

    Raises UserError if no value is left.
    """
    finite = tuple(float(value) for value in values if np.isfinite(value))
    if not finite:
        raise UserError("no run has a value of this metric")
    return _estimate(finite)


@functools.cache  # tables, figures and summary.csv need the same estimates
def _estimate(values: tuple[float, ...]) -> Estimate:
    finite = np.asarray(values, dtype=np.float64)
    mean, low, high = float(finite.mean()), float(finite.min()), float(finite.max())
    if finite.size < MIN_VALUES:
        return Estimate(mean, None, None, low, high, finite.size)
    # differences of equal values differ by rounding errors, for which no interval can be computed
    if high - low <= ROUNDING * max(abs(low), abs(high)):
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
    """Return the estimate of a cell's metric; None if no run has a value."""
    values = cell.values.get(metric, [])
    return estimate(values) if any(map(math.isfinite, values)) else None


def inside_spread(published: float, measured: Estimate) -> bool:
    """True if a published value lies between minimum and maximum of the seeds, both included.

    The published value is a single run, so it is compared with single runs and not with the interval of their mean.
    """
    return measured.minimum <= published <= measured.maximum
