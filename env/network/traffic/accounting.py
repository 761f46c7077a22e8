"""Checks that every byte that a flow has sent is either received or in flight, and computes percentiles of latencies.

A histogram is a list of (low_us, high_us, count), low included, high not, in rising order, without empty buckets. The
program's buckets (env/network/traffic/flow/histogram.h) are at most 1/128 of their lower edge wide, so the middle of a
bucket is within 1/256 = 0.4 % of every value in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Bucket = tuple[float, float, int]
RELATIVE_ERROR = 1 / 256
PERCENTILES = (50, 95, 99)


class TrafficError(RuntimeError):
    """The traffic program failed, or the bytes of a flow do not add up; the message says how."""


def check_accounts(
    flow: str, sent_bytes: int, received_bytes: int, inflight_bytes: int, acked_bytes: int, slack_bytes: int = 0
) -> None:
    """Raise TrafficError when a flow's counters contradict each other.

    sent_bytes: sent at least once by the sender's TCP. received_bytes: read by the receiving application at the same
    instant. inflight_bytes: sent before that instant and read after it. acked_bytes: acknowledged at that instant; they
    cannot exceed the received bytes. slack_bytes: possible difference if the two ends are not sampled at the same
    instant.
    """
    accounts = f"sent {sent_bytes}, received {received_bytes}, in flight {inflight_bytes} bytes"
    if sent_bytes != received_bytes + inflight_bytes:
        difference = sent_bytes - received_bytes - inflight_bytes
        raise TrafficError(f"{flow}: {accounts}: {difference} bytes are unaccounted for")
    if inflight_bytes < -slack_bytes:
        raise TrafficError(f"{flow}: {accounts}: it received more than was sent")
    if acked_bytes > received_bytes + slack_bytes:
        raise TrafficError(f"{flow}: {accounts}, but {acked_bytes} bytes were acknowledged: more than was received")


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
