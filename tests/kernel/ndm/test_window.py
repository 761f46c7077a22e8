"""The window after a decision, ndm_window.h, against its formula in floating point.

The tests run on the library that `make module` builds, and on one compiled with the undefined-behaviour sanitizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.kernel.native import Native
from tests.support.tools import compile_kernel

ONE = 1 << 14  # of an action
CWND_MAX = 1 << 23
COUNT = 20_000

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@pytest.fixture(scope="module", params=["built", "sanitized"])
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native() if request.param == "built" else Native(compile_kernel("core.c", tmp_path_factory.mktemp("core")))


def magnitudes(rng: np.random.Generator, low: float, high: float) -> Integers:
    """Return COUNT numbers of any magnitude from low to high."""
    return np.exp(rng.uniform(np.log(low), np.log(high), COUNT)).astype(np.int64)


def any_arguments(seed: int) -> tuple[Integers, Integers, Integers, Integers]:
    """Return windows with 8 fraction bits, queues, explained RTTs and actions."""
    rng = np.random.default_rng(seed)
    explained_us = magnitudes(rng, 1, 2**32 - 1)
    # a queue that is a likely part of the RTT, or any
    likely_us = explained_us * np.exp(rng.uniform(-7, 3, COUNT))
    queue_us = np.where(rng.random(COUNT) < 0.7, likely_us, magnitudes(rng, 1, 2**30)).astype(np.int64)
    queue_us[rng.random(COUNT) < 0.1] = 0
    return (
        magnitudes(rng, 2 << 8, CWND_MAX << 8),
        np.minimum(queue_us, 2**30),
        explained_us,
        rng.integers(-ONE, ONE + 1, COUNT),
    )


def added(u: Any, growth: Any) -> Floats:
    """Return the packets that a decision adds. u: the queue over the RTT without it."""
    return np.asarray(12 * 2.0 ** (growth / ONE) * np.sqrt(np.minimum(u, 2**16) + 1 / 16))


def resting(native: Native, first: int, u: Floats, growth: Integers) -> Floats:
    """Return the windows, packets, to which `first` packets come with these queues and actions."""
    explained_us = np.full(u.shape, 80_000)
    cwnd_fp = np.full(u.shape, first << 8)
    for _ in range(1000):
        cwnd_fp = native.next_cwnd(cwnd_fp, u * explained_us, explained_us, growth)
    return cwnd_fp / 256


def test_window_is_that_of_the_formula(native: Native) -> None:
    cwnd_fp, queue_us, explained_us, growth = any_arguments(1)
    cwnd, u = cwnd_fp / 256, queue_us / explained_us
    exact = (cwnd + added(u, growth)) / (1 + u) + cwnd * np.maximum(0, 1 / 32 - u)
    error = np.abs(native.next_cwnd(cwnd_fp, queue_us, explained_us, growth) / 256 - exact)
    # the root has 8 fraction bits and is at least 1/4, the ratio has 16
    assert np.all(error <= added(u, growth) / 60 / (1 + u) + cwnd / 65000 + 2 / 256)


def test_window_grows_with_window_and_action(native: Native) -> None:
    cwnd_fp, queue_us, explained_us, growth = any_arguments(2)
    before = native.next_cwnd(cwnd_fp, queue_us, explained_us, growth)
    rng = np.random.default_rng(3)
    larger = np.minimum(cwnd_fp + rng.integers(1, 1000, COUNT), CWND_MAX << 8)
    assert np.all(native.next_cwnd(larger, queue_us, explained_us, growth) >= before)
    more = np.minimum(growth + rng.integers(1, 1000, COUNT), ONE)
    assert np.all(native.next_cwnd(cwnd_fp, queue_us, explained_us, more) >= before)


def test_longer_queue_leaves_less_of_a_large_window(native: Native) -> None:
    """The derivative by the queue is negative from 21 * 2^growth packets on."""
    cwnd_fp, queue_us, explained_us, growth = any_arguments(4)
    factor = 2.0 ** (growth / ONE)
    cwnd_fp = np.minimum(np.maximum(cwnd_fp, 21 * 256 * factor + 1), CWND_MAX << 8)
    longer_us = np.minimum(queue_us + magnitudes(np.random.default_rng(5), 1, 2**20), 2**30)
    before = native.next_cwnd(cwnd_fp, queue_us, explained_us, growth).astype(np.int64)
    after = native.next_cwnd(cwnd_fp, longer_us, explained_us, growth).astype(np.int64)
    # one unit of the root
    assert np.all(after <= before + 12.2 * factor + 2)
    halved = native.next_cwnd(cwnd_fp, explained_us // 2, explained_us, growth)
    assert np.all(native.next_cwnd(cwnd_fp, explained_us, explained_us, growth) < halved)


@pytest.mark.parametrize("action", [-1, -0.3, 0, 0.5, 1])
def test_all_windows_come_to_that_of_the_queue(native: Native, action: float) -> None:
    u = 2.0 ** np.arange(-4, 5)
    growth = np.full(u.shape, round(action * ONE))
    expected = added(u, growth) / u
    for first in (2, 1000, CWND_MAX):
        assert resting(native, first, u, growth) == pytest.approx(expected, rel=0.02, abs=0.1)
    assert np.all(np.diff(expected) < 0), "a longer queue leaves less"


def test_action_scales_the_resting_window_by_two(native: Native) -> None:
    u = np.array([1 / 8, 1 / 2, 2.0])
    small, neutral, large = (resting(native, 100, u, np.full(3, growth)) for growth in (-ONE, 0, ONE))
    assert neutral == pytest.approx(2 * small, rel=0.02, abs=0.1)
    assert large == pytest.approx(2 * neutral, rel=0.02, abs=0.1)


def test_windows_without_a_queue_grow_whatever_the_action(native: Native) -> None:
    cwnd_fp, queue_us, explained_us, growth = any_arguments(6)
    queue_us = np.minimum(queue_us, explained_us // 64)
    assert np.all(native.next_cwnd(cwnd_fp, queue_us, explained_us, growth) > cwnd_fp)


def test_limits_of_the_arguments(native: Native) -> None:
    ends = np.meshgrid([0, 1, CWND_MAX << 8], [0, 1, 2**30, 2**32 - 1], [0, 1, 2**32 - 1], [-(2**15), 0, 2**15 - 1])
    cwnd_fp, queue_us, explained_us, growth = (each.ravel() for each in ends)
    after = native.next_cwnd(cwnd_fp, queue_us, explained_us, growth)
    assert after.max() < 2**32
    np.testing.assert_array_equal(
        after, native.next_cwnd(cwnd_fp, queue_us, np.maximum(explained_us, 1), np.clip(growth, -ONE, ONE))
    )
