"""The distribution of samples in logarithmic bins: percentiles, extremes, memory."""

from __future__ import annotations

import numpy as np
import pytest

from compare.metrics.distribution import BINS, BINS_PER_OCTAVE, Distribution


def test_percentiles_are_exact_within_a_bin() -> None:
    values = np.random.default_rng(3).lognormal(10, 1.5, 20_000)
    distribution = Distribution()
    for part in np.array_split(values, 7):
        distribution.add(part)
    edges_us, share = distribution.cumulative()
    assert share[0] == 0
    assert share[-1] == 1
    assert np.all(np.diff(edges_us) > 0)
    for percent in (1, 50, 95, 99):
        read_off = np.interp(percent / 100, share, edges_us)
        assert read_off == pytest.approx(np.percentile(values, percent), rel=2 ** (1 / BINS_PER_OCTAVE) - 1)


def test_memory_does_not_grow_with_the_values() -> None:
    distribution = Distribution()
    for _ in range(3):
        distribution.add(np.linspace(1, 1e9, 100_000))
    assert distribution.counts.shape == (BINS,)
    assert distribution.total() == 300_000


def test_invalid_samples_are_dropped_and_extremes_clamped() -> None:
    distribution = Distribution()
    distribution.add(np.array([0.0, -1.0, np.nan, np.inf]))
    assert distribution.total() == 0
    assert distribution.cumulative()[0].size == 0
    distribution.add(np.array([0.01, 1e15]))
    assert distribution.counts[0] == distribution.counts[-1] == 1


def test_latency_histogram_counts_buckets_at_their_middle() -> None:
    distribution = Distribution()
    distribution.add_histogram([(99.0, 101.0, 3), (1000.0, 1010.0, 1)])
    edges_us, share = distribution.cumulative()
    assert distribution.total() == 4
    assert np.interp([90, 110, 500, 980, 1030], edges_us, share) == pytest.approx([0, 0.75, 0.75, 0.75, 1])
