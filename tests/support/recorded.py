"""Results for the tests: one that the lab recorded (stress, Cubic, 5 s, seed 1), and small ones made by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from env.lab import FlowResult, RunResult, Table
from env.lab.result import Latency

RECORDED = Path(__file__).with_name("stress-cubic-5s.json.gz")
SENDER = [
    "t_s",
    "cwnd",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "retransmits",
    "unacked",
    "lost",
    "ssthresh",
    "pacing_rate",
    "delivery_rate",
    "kept_min_rtt_us",
    "spurious",
]


def table(columns: Sequence[str], rows: Any) -> Table:
    return Table(tuple(columns), np.asarray(rows, dtype=float).reshape(-1, len(columns)))


def recorded() -> RunResult:
    plain: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    samples = [{side: table(**flow.pop(side)) for side in ("sender", "receiver")} for flow in plain["flows"]]
    result = RunResult.from_dict(plain)
    result.flows = [replace(flow, **tables) for flow, tables in zip(result.flows, samples, strict=True)]
    return result


def made_flow(
    *,
    sent: list[tuple[float, float, float]],
    received: list[tuple[float, float]],
    retransmits: int = 0,
    spurious: int = 0,
    **times: float,
) -> FlowResult:
    """sent: (t_s, cwnd, srtt_us); received: (t_s, bytes so far); times: start_s, duration_s."""
    samples = [[t, cwnd, srtt, srtt / 2, srtt, 0, 5, 0, 10, 1e6, 1e6, srtt, spurious] for t, cwnd, srtt in sent]
    return FlowResult(
        scheme="cubic",
        start_s=times.get("start_s", 0.0),
        duration_s=times.get("duration_s", 4.0),
        received_bytes=int(received[-1][1]) if received else 0,
        retransmits=retransmits,
        sender=table(SENDER, samples),
        receiver=table(["t_s", "bytes"], received),
    )


def made_request_flow(
    *,
    size_bytes: int,
    client: int = 0,
    rate_mbps: float = 8.0,
    latencies: list[tuple[float, float, int]] | None = None,
    cwnd: float = 10.0,
    retransmits: int = 0,
    segments: int = 1000,
    scheme: str = "cubic",
    **times: float,
) -> FlowResult:
    """A flow of requests of even rate. latencies: the histogram; its mean is that of the buckets' middles."""
    duration_s = times.get("duration_s", 4.0)
    received = rate_mbps * 1e6 / 8 * duration_s
    flow = made_flow(
        sent=[(1.0, cwnd, 100.0), (2.0, cwnd, 300.0)], received=[(1.0, received)], retransmits=retransmits, **times
    )
    histogram = latencies or [(99.0, 101.0, 10)]
    count = sum(bucket[2] for bucket in histogram)
    mean_us = sum((low + high) / 2 * n for low, high, n in histogram) / count
    return replace(
        flow,
        scheme=scheme,
        kind="request",
        size_bytes=size_bytes,
        client=client,
        server=0,
        segments_sent=segments,
        latency=Latency(count=count, mean_us=mean_us, histogram=histogram),
    )
