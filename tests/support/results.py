"""Results for the tests: a recorded run (stress, Cubic, 5 s, seed 1), flows made by hand, and cells without a run."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from compare.metrics.cells import Cell
from compare.metrics.metric import Metric
from env.lab import FlowResult, RunResult, Table
from env.lab.result import Latency
from env.network.scenario import Flow, Scenario
from env.network.schemes import find_schemes

RECORDED = Path(__file__).with_name("stress-cubic-5s.json.gz")
SENDER = (
    *("t_s", "cwnd", "srtt_us", "rttvar_us", "min_rtt_us", "retransmits", "unacked", "lost", "ssthresh"),
    *("pacing_rate", "delivery_rate", "cc_min_rtt_us", "spurious"),
)
GOODPUT = Metric("goodput", "Mbit/s", "Goodput", 1, "")


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
    received = rate_mbps * 1e6 / 8 * times.get("duration_s", 4.0)
    sent = [(1.0, cwnd, 100.0), (2.0, cwnd, 300.0)]
    flow = made_flow(sent=sent, received=[(1.0, received)], retransmits=retransmits, **times)
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


def made_scenario(name: str, flows: Sequence[Flow] = (Flow(),)) -> Scenario:
    return Scenario(name, "claim", 10.0, path={"topology": "router"}, flows=list(flows))


def made_cells(
    scenario: Scenario,
    values: Mapping[str, Mapping[str, Sequence[float | None]]],
    failed: Mapping[str, int] | None = None,
) -> list[Cell]:
    """values: scheme to metric to one value per seed from 1 on, None where the run failed."""
    cells = []
    for scheme, of_metrics in values.items():
        runs = max(map(len, of_metrics.values()), default=0)
        lost = {seed for column in of_metrics.values() for seed, value in enumerate(column, 1) if value is None}
        seeds = [seed for seed in range(1, runs + 1) if seed not in lost]
        cell = Cell(scenario, find_schemes([scheme])[0], seeds=seeds)
        cell.failed = dict.fromkeys([*sorted(lost), *range(1, 1 + (failed or {}).get(scheme, 0))], "crashed")
        cell.metrics = [Metric(name, "", name, 1, "") for name in of_metrics]
        cell.values = {
            name: [math.nan if value is None else value for seed, value in enumerate(column, 1) if seed in seeds]
            for name, column in of_metrics.items()
        }
        cells.append(cell)
    return cells
