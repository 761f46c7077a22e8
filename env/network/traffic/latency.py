"""Percentiles of the traffic program's latency histograms. Standard library only: the guest agent imports this module.

A histogram is a list of (low_us, high_us, count), low included, high not, in rising order, without empty buckets. The
program's buckets (env/network/flow/histogram.h) are at most 1/128 of their lower edge wide, so the middle of a bucket
is within 1/256 = 0.4 % of every value in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Bucket = tuple[float, float, int]
RELATIVE_ERROR = 1 / 256
PERCENTILES = (50, 95, 99)


def percentile(buckets: Sequence[Bucket], percent: float, largest: float = math.inf) -> float:
    """Return the smallest value that `percent` % of the values do not exceed, within RELATIVE_ERROR, or NaN.

    largest: the exact maximum, if it is known.
    """
    rank = math.ceil(sum(count for _, _, count in buckets) * percent / 100)
    values = 0  # in the buckets so far
    for low, high, count in buckets:
        values += count
        if values >= max(rank, 1):
            return min((low + high) / 2, largest)
    return math.nan
