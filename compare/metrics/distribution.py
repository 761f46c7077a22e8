"""The distribution of values over all samples of all seeds, in constant memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from compare.metrics.metric import Floats

BINS_PER_OCTAVE = 32  # a bin is 2.2 % wide
LOWEST_LOG2, HIGHEST_LOG2 = 0, 30  # of values in us: 1 us to 18 min; the edge bins include values outside
BINS = (HIGHEST_LOG2 - LOWEST_LOG2) * BINS_PER_OCTAVE


class Distribution:
    """Counts of positive values in BINS logarithmic bins."""

    def __init__(self) -> None:
        self.counts = np.zeros(BINS, dtype=np.int64)  # (BINS,)

    def add(self, values_us: Floats) -> None:
        """Count values, shape (N,), except those that are not positive numbers (no sample)."""
        self._count(values_us[np.isfinite(values_us) & (values_us > 0)])

    def add_histogram(self, buckets: Iterable[tuple[float, float, int]]) -> None:
        """Count the values of a latency histogram of (low_us, high_us, count), each at the middle of its bucket."""
        rows = np.asarray(list(buckets), dtype=np.float64).reshape(-1, 3)
        middle_us = (rows[:, 0] + rows[:, 1]) / 2
        positive = middle_us > 0
        self._count(middle_us[positive], rows[positive, 2])

    def _count(self, values_us: Floats, weights: Floats | None = None) -> None:
        bin_of = np.floor((np.log2(values_us) - LOWEST_LOG2) * BINS_PER_OCTAVE).astype(np.int64)
        counts = np.bincount(np.clip(bin_of, 0, BINS - 1), weights=weights, minlength=BINS)
        self.counts += np.rint(counts).astype(np.int64)

    def total(self) -> int:
        """Return the number of values counted."""
        return int(self.counts.sum())

    def cumulative(self) -> tuple[Floats, Floats]:
        """Return (edge of a bin in us, share of the values below it), both of shape (B,), of the bins in use.

        The share rises from 0 to 1. Both are empty without values.
        """
        used = np.flatnonzero(self.counts)
        if not used.size:
            return np.zeros(0), np.zeros(0)
        edges = np.union1d(used, used + 1)
        below = np.concatenate(([0], np.cumsum(self.counts)))
        return np.exp2(LOWEST_LOG2 + edges / BINS_PER_OCTAVE), below[edges] / below[-1]
