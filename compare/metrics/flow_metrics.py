"""Metrics of one flow: pure functions of its result.

Shapes: N samples of the sender, M samples of the receiver, T whole seconds of the flow.
"""

from __future__ import annotations

import math

import numpy as np

from compare.metrics.metric import BITS_PER_MBIT, BYTES_PER_MB, Floats, Metric
from env.errors import UserError
from env.lab import FlowResult

METRICS = (
    Metric("goodput", "Mbit/s", "Goodput", 1, "bytes received by the application over the flow's duration"),
    Metric("retransmits", "count", "Retransmits", -1, "packets sent again by TCP"),
    Metric("retransmits_per_mb", "1/MB", "Retransmits per MB", -1, "retransmits per 10^6 bytes received"),
    Metric(
        "retransmits_spurious",
        "count",
        "Spurious retransmits",
        -1,
        "packets sent again that the receiver already had (DSACK), or that the network duplicated",
    ),
    Metric("zero_seconds", "count", "Zero seconds", -1, "whole seconds in which the receiver got nothing"),
    Metric("rtt_mean", "ms", "Mean RTT", -1, "mean of the sender's smoothed RTT while the flow runs"),
    Metric("rtt_p50", "ms", "Median RTT", -1, "median of the sender's smoothed RTT while the flow runs"),
    Metric("rtt_p95", "ms", "p95 RTT", -1, "95th percentile of the sender's smoothed RTT while the flow runs"),
    Metric("rtt_p99", "ms", "p99 RTT", -1, "99th percentile of the sender's smoothed RTT while the flow runs"),
    Metric("power", "Mbit/s/ms", "Power", 1, "goodput over mean RTT (Kleinrock 1979)"),
    Metric("cwnd_mean", "packets", "Mean cwnd", 0, "mean of the sender's congestion window"),
)


def flow_metrics(flow: FlowResult) -> dict[str, float]:
    """Return name to value for all of METRICS, in their units; NaN without data (no RTT sample, nothing received).

    Raises UserError for a flow without duration or without samples, ValueError if the samples lack a column.
    """
    goodput = goodput_mbps(flow)
    if not len(flow.sender):
        raise UserError("the run has no samples of the sender; run it again with sample_ms above 0")
    received_bytes = flow.received_bytes
    retransmits = float(flow.retransmits)
    rtt_ms = flow.sender["srtt_us"] / 1e3  # (N,)
    rtt_ms = rtt_ms[rtt_ms > 0]  # 0: no sample yet
    rtt_mean = float(rtt_ms.mean()) if rtt_ms.size else math.nan
    rtt_p50, rtt_p95, rtt_p99 = np.percentile(rtt_ms, (50, 95, 99)) if rtt_ms.size else (math.nan,) * 3
    return {
        "goodput": goodput,
        "retransmits": retransmits,
        "retransmits_per_mb": retransmits / (received_bytes / BYTES_PER_MB) if received_bytes else math.nan,
        # packets that the network duplicates cause DSACKs too, so the count is limited to the retransmits
        "retransmits_spurious": min(float(flow.sender["spurious"][-1]), retransmits),
        "zero_seconds": float(np.count_nonzero(received_per_second(flow) == 0)),
        "rtt_mean": rtt_mean,
        "rtt_p50": float(rtt_p50),
        "rtt_p95": float(rtt_p95),
        "rtt_p99": float(rtt_p99),
        "power": goodput / rtt_mean,
        "cwnd_mean": float(flow.sender["cwnd"].mean()),
    }


def goodput_mbps(flow: FlowResult) -> float:
    """Return a flow's goodput over its duration, Mbit/s; raises UserError without duration."""
    duration_s = flow.duration_s
    if duration_s <= 0:
        raise UserError(f"the flow's duration_s is {duration_s:g}; it must be positive")
    return flow.received_bytes * 8 / BITS_PER_MBIT / duration_s


def received_per_second(flow: FlowResult) -> Floats:
    """Return the bytes received in each whole second of the flow, shape (T,).

    Each sample counts for the second that it ends: a sample at 3.0 s belongs to the third second.
    """
    seconds = math.floor(flow.duration_s + 1e-9)  # T
    t_s = flow.receiver["t_s"] - flow.start_s  # (M,)
    received_bytes = np.diff(flow.receiver["bytes"], prepend=0.0)  # (M,) since the previous sample
    second = np.ceil(t_s - 1e-3).astype(np.int64) - 1  # (M,) a timer may fire some microseconds late
    per_second = np.zeros(seconds)
    within = (second >= 0) & (second < seconds)
    np.add.at(per_second, second[within], received_bytes[within])
    return per_second
