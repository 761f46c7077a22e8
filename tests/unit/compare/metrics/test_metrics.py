"""The metrics of one flow, on flows made by hand and on a recorded one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compare.metrics.flow_metrics import METRICS, flow_metrics, received_per_second
from env.errors import UserError
from env.lab import FlowResult
from tests.support.results import made_flow, recorded, table

EVEN: dict[str, Any] = {
    "sent": [(1.0, 10, 40_000), (2.0, 20, 60_000), (3.0, 30, 0), (4.0, 40, 100_000)],
    "received": [(1.0, 1_000_000), (2.0, 2_000_000), (3.0, 3_000_000), (4.0, 4_000_000)],
}


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        # 4 MB in 4 s; an srtt of 0 is no sample
        (
            made_flow(**EVEN, retransmits=8, spurious=3),
            {"goodput": 8.0, "retransmits_spurious": 3, "rtt_p50": 60.0, "rtt_p99": 99.2, "power": 8.0 / (200 / 3)}
            | {"retransmits": 8, "retransmits_per_mb": 2.0, "zero_seconds": 0, "cwnd_mean": 25.0}
            | {"rtt_mean": 200 / 3, "rtt_p95": 96.0},
        ),
        # goodput is over the flow's duration, also when it ends early
        (made_flow(**EVEN, duration_s=8.0), {"goodput": 4.0, "zero_seconds": 4}),
        (
            made_flow(sent=[(1.0, 10, 0)], received=[(4.0, 0)], retransmits=3),
            {"goodput": 0.0, "retransmits_per_mb": math.nan, "zero_seconds": 4, "rtt_mean": math.nan},
        ),
    ],
    ids=["even", "ends early", "nothing received"],
)
def test_flow_metrics(flow: FlowResult, expected: dict[str, float]) -> None:
    metrics = flow_metrics(flow)
    assert list(metrics) == [metric.name for metric in METRICS]
    for name, value in expected.items():
        assert metrics[name] == pytest.approx(value, nan_ok=True), name


@pytest.mark.parametrize(
    ("received", "times", "expected"),
    [
        # a sample belongs to the second that ends with it, also when its timer fired a little late
        ([(1.0, 10), (2.0, 10), (3.0, 15), (4.0, 15)], {}, [10, 0, 5, 0]),
        ([(1.0004, 10), (2.0004, 10), (3.0004, 15), (4.0004, 15)], {}, [10, 0, 5, 0]),
        # many samples a second
        ([(0.5, 1), (1.0, 2), (1.5, 2), (2.0, 2), (3.5, 9), (4.0, 9)], {}, [2, 0, 0, 7]),
        # seconds count from the flow's start; half a second at the end is no whole one
        ([(10.5, 0), (11.5, 3), (12.5, 3), (13.0, 4)], {"start_s": 10.5, "duration_s": 2.5}, [3, 0]),
    ],
)
def test_received_per_second(
    received: list[tuple[float, float]], times: dict[str, float], expected: list[float]
) -> None:
    np.testing.assert_array_equal(received_per_second(made_flow(sent=[], received=received, **times)), expected)


def test_metrics_of_recorded_run_agree_with_its_counts() -> None:
    result = recorded()
    flow = result.flows[0]
    metrics = flow_metrics(flow)
    assert metrics["goodput"] == pytest.approx(flow.received_bytes * 8 / 1e6 / result.duration_s)
    assert 5 < metrics["goodput"] < 20
    assert metrics["retransmits"] == flow.retransmits > 0
    assert received_per_second(flow).sum() == pytest.approx(flow.received_bytes, rel=0.02)
    assert 20 < metrics["rtt_mean"] < metrics["rtt_p95"] < 2000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration_s": 0.0}, "duration_s is 0"),
        ({"sender": table(["t_s", "cwnd"], [[1.0, 2]])}, "no column 'srtt_us'"),
        ({"sender": table(["t_s"], [])}, "no samples"),
    ],
)
def test_a_run_that_cannot_be_measured_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((UserError, ValueError), match=message):
        flow_metrics(replace(made_flow(**EVEN), **change))
