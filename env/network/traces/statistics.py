"""Statistics of a trace: mean rate, its deviation and correlation time, outages and gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from env.network.traces.format import PACKET_BITS, Trace

WINDOW_MS = 100  # rates are means over windows of this length
OUTAGE_MS = 100  # a gap of at least this length is an outage
GAP_MS = 20  # a gap of at least this length is one that a sender notices


@dataclass(frozen=True)
class Statistics:
    """Statistics of a trace of 1500-byte packets.

    mean_mbps, deviation_mbps: mean and standard deviation of the rate in windows of WINDOW_MS. correlation_s: lag at
    which the rate's autocorrelation falls below 1/e, interpolated between windows. outages: number of gaps of at least
    OUTAGE_MS without delivery. longest_gap_ms: longest gap. mean_outage_ms: mean length of the outages; 0 without any.
    gaps_per_s: gaps of at least GAP_MS per second.
    """

    mean_mbps: float
    deviation_mbps: float
    correlation_s: float
    outages: int
    longest_gap_ms: int
    mean_outage_ms: float
    gaps_per_s: float

    def text(self) -> str:
        """Return the statistics in one line."""
        return (
            f"mean {self.mean_mbps:.2f} Mbit/s, deviation {self.deviation_mbps:.2f} Mbit/s, correlation time "
            f"{self.correlation_s:.2f} s, {self.outages} outages of {self.mean_outage_ms:.0f} ms on average, longest "
            f"gap {self.longest_gap_ms} ms, {self.gaps_per_s:.2f} gaps of {GAP_MS} ms per s"
        )


def statistics(trace: Trace) -> Statistics:
    """Return the statistics of a trace; an incomplete window at the end counts only in the mean."""
    times_ms = np.frombuffer(trace.times_ms, dtype=np.uint64).astype(np.int64)  # [opportunities]
    rates = window_rates_mbps(times_ms, trace.duration_ms)
    # the trace repeats, so the last gap and the first one are one gap
    gaps_ms = np.diff(times_ms, prepend=times_ms[-1] - trace.duration_ms)
    outages_ms = gaps_ms[gaps_ms >= OUTAGE_MS]
    return Statistics(
        mean_mbps=trace.mean_mbps,
        deviation_mbps=float(rates.std()) if rates.size else 0.0,
        correlation_s=correlation_time_s(rates),
        outages=int(outages_ms.size),
        longest_gap_ms=int(gaps_ms.max()),
        mean_outage_ms=float(outages_ms.mean()) if outages_ms.size else 0.0,
        gaps_per_s=float(np.count_nonzero(gaps_ms >= GAP_MS) / trace.duration_ms * 1e3),
    )


def window_rates_mbps(times_ms: npt.NDArray[np.int64], duration_ms: int) -> npt.NDArray[np.float64]:
    """Return the rate in each whole window, [duration_ms // WINDOW_MS]; a window includes its end, not its start."""
    return rates_mbps(times_ms, duration_ms, WINDOW_MS)


def rates_mbps(times_ms: npt.NDArray[np.int64], duration_ms: int, window_ms: int) -> npt.NDArray[np.float64]:
    """Return the rate in each whole window of window_ms, as window_rates_mbps(), [duration_ms // window_ms]."""
    windows = duration_ms // window_ms
    counts = np.bincount(np.maximum(times_ms - 1, 0) // window_ms, minlength=windows)[:windows]
    return np.asarray(counts * (PACKET_BITS / window_ms / 1e3), dtype=np.float64)


def correlation_time_s(rates: npt.NDArray[np.float64]) -> float:
    """Return the lag at which the autocorrelation of the rates falls below 1/e, s; NaN when it never does."""
    deviations = rates - rates.mean() if rates.size else rates  # [windows]
    power = float(deviations @ deviations)
    if not power:
        return math.nan
    before = 1.0
    for lag in range(1, rates.size):
        now = float(deviations[:-lag] @ deviations[lag:]) / power
        if now < 1 / math.e:
            return (lag - 1 + (before - 1 / math.e) / (before - now)) * WINDOW_MS / 1e3
        before = now
    return math.nan
