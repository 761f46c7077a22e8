"""Time series of a flow in the units of the report, from the samples of a run.

Shapes: N samples of the sender, M samples of the receiver, B bins of the timeline.
"""

from __future__ import annotations

import numpy as np

from compare.metrics.metric import BITS_PER_MBIT, Floats
from env.lab import FlowResult

UNLIMITED_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: no loss yet


def flow_series(flow: FlowResult) -> dict[str, Floats]:
    """Return a flow's time series at the sender's samples, each of shape (N,).

    ``t_s`` since the run began; ``goodput_mbps`` received by the application since the previous sample; ``cwnd``,
    ``inflight``, ``lost``, ``ssthresh`` in packets, ``retransmits`` so far; ``rtt_ms`` smoothed, ``rtt_variation_ms``
    its mean deviation, ``min_rtt_ms`` the kernel's minimum; ``pacing_mbps``, ``delivery_mbps``; ``cc_min_rtt_ms`` the
    congestion control's own minimum RTT. NaN: no RTT sample yet, ssthresh never set, no such minimum.
    """
    sender = flow.sender
    t_s = sender["t_s"]  # (N,)
    received_bytes = np.interp(t_s, *received_series(flow))  # (N,)
    elapsed_s = np.diff(t_s, prepend=flow.start_s)  # (N,)
    with np.errstate(divide="ignore", invalid="ignore"):
        goodput = np.diff(received_bytes, prepend=0.0) * 8 / BITS_PER_MBIT / elapsed_s
    srtt_us = sender["srtt_us"]
    measured = srtt_us > 0
    ssthresh = sender["ssthresh"]
    cc_min_rtt_us = sender["cc_min_rtt_us"] if "cc_min_rtt_us" in sender.columns else np.zeros_like(t_s)

    def milliseconds(values_us: Floats) -> Floats:
        return np.where(measured, values_us / 1e3, np.nan)

    return {
        "t_s": t_s,
        "goodput_mbps": np.where(elapsed_s > 0, goodput, np.nan),
        "cwnd": sender["cwnd"],
        "rtt_ms": milliseconds(srtt_us),
        "rtt_variation_ms": milliseconds(sender["rttvar_us"]),
        "min_rtt_ms": milliseconds(sender["min_rtt_us"]),
        "retransmits": sender["retransmits"],
        "inflight": sender["unacked"],
        "lost": sender["lost"],
        "ssthresh": np.where(ssthresh < UNLIMITED_SSTHRESH, ssthresh, np.nan),
        "pacing_mbps": sender["pacing_rate"] * 8 / BITS_PER_MBIT,
        "delivery_mbps": sender["delivery_rate"] * 8 / BITS_PER_MBIT,
        "cc_min_rtt_ms": np.where(cc_min_rtt_us > 0, cc_min_rtt_us / 1e3, np.nan),
    }


def received_series(flow: FlowResult) -> tuple[Floats, Floats]:
    """Return (time since the run began in s, bytes received until then), both of shape (M + 1,), from the start on."""
    return np.append(flow.start_s, flow.receiver["t_s"]), np.append(0.0, flow.receiver["bytes"])


def goodput_between(flow: FlowResult, from_s: float, to_s: float) -> float:
    """Return a flow's goodput between two times of the run, Mbit/s."""
    begin, end = np.interp([from_s, to_s], *received_series(flow))
    return float((end - begin) * 8 / BITS_PER_MBIT / (to_s - from_s))


def binned(t_s: Floats, values: Floats, bins: int, end_s: float) -> tuple[Floats, Floats]:
    """Return (middle of the bin in s, mean of the values in the bin), both of shape (B,); NaN for empty bins.

    t_s, values: shape (N,).
    """
    edges = np.linspace(0.0, end_s, bins + 1)
    valid = np.isfinite(values)
    bin_of = np.clip(np.digitize(t_s[valid], edges) - 1, 0, bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    total = np.bincount(bin_of, weights=values[valid], minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return (edges[:-1] + edges[1:]) / 2, mean
