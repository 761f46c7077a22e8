"""Time series of a run: what the per-run CSV holds and the timelines show.

Letters of shapes: N samples of the sender, M samples of the receiver, B bins of the timeline.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from compare.metrics import BITS_PER_MBIT, Floats, column

UNLIMITED_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: nothing lost yet

# name, unit and meaning of the CSV's columns, in order
COLUMNS = (
    ("flow", "which flow of the scenario, from 0"),
    ("scheme", "its congestion control, as the kernel calls it"),
    ("t_s", "seconds since the run began"),
    ("goodput_mbps", "received by the application since the sample before, Mbit/s"),
    ("cwnd", "packets"),
    ("rtt_ms", "smoothed RTT; empty before the first sample"),
    ("rtt_variation_ms", "RTT mean deviation; empty before the first sample"),
    ("min_rtt_ms", "smallest RTT so far; empty before the first sample"),
    ("retransmits", "packets sent again so far"),
    ("inflight", "packets sent and not acknowledged"),
    ("lost", "packets counted as lost now"),
    ("ssthresh", "packets; empty while it has never been set"),
    ("pacing_mbps", "pacing rate, Mbit/s"),
    ("delivery_mbps", "delivery rate, Mbit/s"),
    ("kept_min_rtt_ms", "smallest RTT that the congestion control itself goes by; empty where it tells none"),
)


def flow_series(flow: dict[str, Any]) -> dict[str, Floats]:
    """Return the numeric columns of COLUMNS for one flow, each of shape (N,); NaN stands for empty."""
    sender, receiver = flow["sender"], flow["receiver"]
    t_s = column(sender, "t_s")  # (N,)
    received_t_s = np.append(float(flow["start_s"]), column(receiver, "t_s"))  # (M + 1,)
    received_bytes = np.append(0.0, column(receiver, "bytes"))  # (M + 1,)
    at_samples = np.interp(t_s, received_t_s, received_bytes)  # (N,)
    elapsed_s = np.diff(t_s, prepend=float(flow["start_s"]))  # (N,)
    with np.errstate(divide="ignore", invalid="ignore"):
        goodput = np.diff(at_samples, prepend=0.0) * 8 / BITS_PER_MBIT / elapsed_s
    srtt_us = column(sender, "srtt_us")
    measured = srtt_us > 0
    min_rtt_us = column(sender, "min_rtt_us")
    ssthresh = column(sender, "ssthresh")

    kept_us = column(sender, "kept_min_rtt_us") if "kept_min_rtt_us" in sender["columns"] else np.zeros_like(t_s)

    def milliseconds(values_us: Floats) -> Floats:
        return np.where(measured, values_us / 1e3, np.nan)

    return {
        "t_s": t_s,
        "goodput_mbps": np.where(elapsed_s > 0, goodput, np.nan),
        "cwnd": column(sender, "cwnd"),
        "rtt_ms": milliseconds(srtt_us),
        "rtt_variation_ms": milliseconds(column(sender, "rttvar_us")),
        "min_rtt_ms": milliseconds(min_rtt_us),
        "retransmits": column(sender, "retransmits"),
        "inflight": column(sender, "unacked"),
        "lost": column(sender, "lost"),
        "ssthresh": np.where(ssthresh < UNLIMITED_SSTHRESH, ssthresh, np.nan),
        "pacing_mbps": column(sender, "pacing_rate") * 8 / BITS_PER_MBIT,
        "delivery_mbps": column(sender, "delivery_rate") * 8 / BITS_PER_MBIT,
        "kept_min_rtt_ms": np.where(kept_us > 0, kept_us / 1e3, np.nan),
    }


def series_csv(flows: list[dict[str, Any]]) -> str:
    """Return the text of a run's CSV: a row per flow and sample, columns as in COLUMNS."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name for name, _ in COLUMNS)
    for index, flow in enumerate(flows):
        columns = list(flow_series(flow).values())
        for row in zip(*columns, strict=True):
            writer.writerow([index, flow["scheme"], *("" if np.isnan(value) else f"{value:.7g}" for value in row)])
    return text.getvalue()


def binned(t_s: Floats, values: Floats, bins: int, end_s: float) -> tuple[Floats, Floats]:
    """Return (middle of the bin in s, mean of the values in it), both of shape (B,): a line that can be read.

    t_s, values: shape (N,). Bins without a value are NaN.
    """
    edges = np.linspace(0.0, end_s, bins + 1)
    valid = np.isfinite(values)
    where = np.clip(np.digitize(t_s[valid], edges) - 1, 0, bins - 1)
    count = np.bincount(where, minlength=bins)
    total = np.bincount(where, weights=values[valid], minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return (edges[:-1] + edges[1:]) / 2, mean
