"""The traffic program's latency histogram, compiled from its own header, against exact arithmetic."""

from __future__ import annotations

import ctypes
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.checkout import ROOT
from env.network.traffic.accounting import RELATIVE_ERROR, Bucket, percentile
from tests.support.tools import compile_library

FLOW = ROOT / "env" / "network" / "traffic" / "flow"
NS = st.integers(0, 2**64 - 1) | st.integers(0, 63).flatmap(lambda bit: st.integers(0, 2**bit))
STATED = 0.01  # what docs/reference/file-formats.md promises


@pytest.fixture(scope="module")
def histogram(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("histogram")
    source = folder / "histogram.c"
    source.write_text(
        '#include "histogram.h"\n'
        "unsigned int bucket(uint64_t ns) { return histogram_bucket(ns); }\n"
        "uint64_t low(unsigned int b) { return histogram_low(b); }\n"
        "uint64_t width(unsigned int b) { return histogram_width(b); }\n"
        "unsigned int buckets(void) { return HISTOGRAM_BUCKETS; }\n"
    )
    loaded = ctypes.CDLL(str(compile_library(source, folder, f"-I{FLOW}")))
    loaded.bucket.argtypes = [ctypes.c_uint64]
    loaded.bucket.restype = loaded.buckets.restype = ctypes.c_uint
    loaded.low.argtypes = loaded.width.argtypes = [ctypes.c_uint]
    loaded.low.restype = loaded.width.restype = ctypes.c_uint64
    return loaded


def test_buckets_cover_64_bits_without_a_gap(histogram: ctypes.CDLL) -> None:
    assert histogram.low(0) == 0
    end = 0
    for bucket in range(histogram.buckets()):
        low, width = histogram.low(bucket), histogram.width(bucket)
        assert low == end
        assert histogram.bucket(low) == histogram.bucket(low + width - 1) == bucket
        assert width == 1 or width / low <= 1 / 128
        end = low + width
    assert end == 2**64
    assert histogram.bucket(2**64 - 1) == histogram.buckets() - 1


@given(ns=NS)
def test_bucket_middle_is_within_the_stated_error(histogram: ctypes.CDLL, ns: int) -> None:
    bucket = histogram.bucket(ns)
    low, width = histogram.low(bucket), histogram.width(bucket)
    assert low <= ns < low + width
    # a bucket of one value is exact to half a nanosecond
    assert abs(low + width / 2 - ns) <= max(ns * RELATIVE_ERROR, 0.5)


def filled(histogram: ctypes.CDLL, values_ns: list[int]) -> list[Bucket]:
    counts: dict[int, int] = {}
    for ns in values_ns:
        bucket = histogram.bucket(ns)
        counts[bucket] = counts.get(bucket, 0) + 1
    edges = {b: (histogram.low(b) / 1e3, (histogram.low(b) + histogram.width(b)) / 1e3) for b in counts}
    return [(*edges[b], counts[b]) for b in sorted(counts)]


@settings(max_examples=200)
@given(values_ns=st.lists(st.integers(100, 10**12), min_size=1, max_size=300), percent=st.sampled_from([1, 50, 95, 99]))
def test_percentiles_are_within_one_per_cent(histogram: ctypes.CDLL, values_ns: list[int], percent: float) -> None:
    ordered = sorted(values_ns)
    exact_us = ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1] / 1e3
    percentile_us = percentile(filled(histogram, values_ns), percent, ordered[-1] / 1e3)
    assert percentile_us == pytest.approx(exact_us, rel=STATED)
    assert percentile_us <= ordered[-1] / 1e3


def test_empty_histogram_has_no_percentile() -> None:
    assert math.isnan(percentile([], 99))
