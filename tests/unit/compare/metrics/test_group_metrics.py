"""The metrics of groups of flows, by size and by client, and Jain's index."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.metrics.group_metrics import (
    find_groups,
    group_metrics,
    jain_index,
    latency_percentile_us,
    mean_latency_us,
    size_label,
)
from env.errors import UserError
from env.lab import FlowResult
from env.lab.result import Latency
from tests.support.results import made_flow, made_request_flow, recorded


def named(flows: list[FlowResult], under_test: list[bool] | None = None) -> dict[str, float]:
    metrics = group_metrics(flows, under_test or [True] * len(flows))
    return {metric.name: value for metric, value in metrics.items()}


def test_one_bulk_flow_has_no_groups() -> None:
    flows = recorded().flows
    assert find_groups(flows, [True]) == []
    assert group_metrics(flows, [True]) == {}


def test_one_flow_of_requests_is_its_own_summary() -> None:
    metrics = named([made_request_flow(size_bytes=10_000, rate_mbps=80, retransmits=5, segments=1000, cwnd=12)])
    assert metrics == {
        "cwnd": 12,
        "rtt": 200,
        "rate": pytest.approx(80),
        "rate_min": pytest.approx(80),
        "rate_max": pytest.approx(80),
        "retrans_pct": 0.5,
        "mean_latency": 100,
        "p99_latency": 100,
        "retrans_total": 5,
    }


def test_flows_of_two_sizes_are_averaged_by_size() -> None:
    """The rows .0, .10 and .12 of the paper's Table 3, in small."""
    large = [
        made_request_flow(size_bytes=1 << 20, client=c, rate_mbps=r, cwnd=w, retransmits=n, latencies=[(990, 1010, 10)])
        for c, r, w, n in ((0, 100, 40, 30), (1, 200, 60, 10))
    ]
    small = [made_request_flow(size_bytes=10_240, client=1, rate_mbps=30, cwnd=8, latencies=[(99, 101, 1000)])]
    metrics = named(large + small)
    assert metrics["rate"] == pytest.approx(330)
    assert (metrics["rate_min"], metrics["rate_max"]) == (pytest.approx(30), pytest.approx(200))
    assert metrics["cwnd"] == pytest.approx(36)
    assert metrics["retrans_total"] == 40
    assert metrics["retrans_pct"] == pytest.approx(100 * 40 / 3000)
    # a mean over the flows, not over the 1020 requests, of which 1000 are small
    assert metrics["mean_latency"] == pytest.approx(700)
    assert metrics["p99_latency"] == pytest.approx(700)
    assert metrics["rate_1M"] == pytest.approx(150)
    assert metrics["cwnd_1M"] == pytest.approx(50)
    assert metrics["retrans_total_1M"] == pytest.approx(20)
    assert metrics["mean_latency_1M"] == pytest.approx(1000)
    assert (metrics["rate_10K"], metrics["mean_latency_10K"], metrics["cwnd_10K"]) == (pytest.approx(30), 100, 8)
    assert not any(name.endswith("_client") for name in metrics)
    assert metrics["jain"] == pytest.approx(jain_index([100, 200, 30]))


def test_flows_of_one_size_are_averaged_by_client() -> None:
    """The rows .0 and .1 of Tables 4 to 6: of each client the sum and the extremes of its flows, then the mean."""
    flows = [
        made_request_flow(size_bytes=1 << 20, client=client, rate_mbps=rate, retransmits=n)
        for client, rate, n in ((0, 10, 1), (0, 30, 3), (1, 20, 0), (1, 60, 4))
    ]
    metrics = named(flows)
    assert (metrics["rate"], metrics["rate_min"], metrics["rate_max"]) == (
        pytest.approx(120),
        pytest.approx(10),
        pytest.approx(60),
    )
    assert (metrics["rate_client"], metrics["rate_min_client"], metrics["rate_max_client"]) == (
        pytest.approx(60),
        pytest.approx(15),
        pytest.approx(45),
    )
    assert (metrics["retrans_total"], metrics["retrans_total_client"]) == (8, 4)


def test_one_flow_per_client_needs_no_average() -> None:
    flows = [made_request_flow(size_bytes=1 << 20, client=client) for client in (0, 1)]
    assert [group.label for group in find_groups(flows, [True, True])] == [""]


def test_other_schemes_are_separate_and_not_in_fairness() -> None:
    flows = [made_request_flow(size_bytes=1 << 20, client=i, rate_mbps=r) for i, r in enumerate((10, 10, 80))]
    flows[2].scheme = "reno"
    metrics = named(flows, [True, True, False])
    assert metrics["jain"] == pytest.approx(1)
    assert (metrics["rate_under_test"], metrics["rate_reno"]) == (pytest.approx(10), pytest.approx(80))
    # reno under test beside reno: still apart
    for flow in flows:
        flow.scheme = "reno"
    assert named(flows, [True, True, False])["rate_reno"] == pytest.approx(80)


def test_rate_of_a_late_flow_covers_its_duration() -> None:
    first = made_request_flow(size_bytes=1 << 20, rate_mbps=50, start_s=0.0, duration_s=4.0)
    second = made_request_flow(size_bytes=1 << 20, client=1, rate_mbps=40, start_s=1.0, duration_s=2.0)
    metrics = named([first, second])
    assert metrics["rate"] == pytest.approx((50 * 4 + 40 * 2) / 4)
    assert (metrics["rate_min"], metrics["rate_max"]) == (pytest.approx(40), pytest.approx(50))


def test_metrics_that_cannot_be_computed_are_nan() -> None:
    flow = made_flow(sent=[(1.0, 10, 0)], received=[(4.0, 0)])
    metrics = named([flow, flow])
    for name in ("mean_latency", "p99_latency", "rtt", "retrans_pct", "jain"):
        assert math.isnan(metrics[name]), name
    with pytest.raises(UserError, match="duration_s is 0"):
        named([replace(flow, duration_s=0.0), flow])


@pytest.mark.parametrize(
    ("size", "label"),
    [
        (10_000, "10K"),
        (10_240, "10K"),
        (1_000_000, "1M"),
        (1 << 20, "1M"),
        (64 << 10, "64K"),
        (2500, "2.5K"),
        (1, "1B"),
    ],
)
def test_sizes_are_called_as_in_the_paper(size: int, label: str) -> None:
    assert size_label(size) == label


@pytest.mark.parametrize(("values", "index"), [([5, 5, 5], 1.0), ([1, 0, 0, 0], 0.25), ([3, 1], 0.8)])
def test_jain_index(values: list[float], index: float) -> None:
    assert jain_index(values) == pytest.approx(index)


def bucketed(latencies_us: list[float]) -> Latency:
    """What a generator with buckets of 1 % would report."""
    buckets: dict[int, int] = {}
    for value in latencies_us:
        k = math.floor(math.log(value) / math.log(1.01))
        buckets[k] = buckets.get(k, 0) + 1
    histogram = [(1.01**k, 1.01 ** (k + 1), n) for k, n in sorted(buckets.items())]
    return Latency(count=len(latencies_us), mean_us=sum(latencies_us) / len(latencies_us), histogram=histogram)


@given(
    st.lists(st.lists(st.floats(1.0, 1e7), min_size=1, max_size=60), min_size=1, max_size=5),
    st.sampled_from([1, 50, 95, 99, 100]),
)
def test_merged_percentiles_are_exact_within_a_bucket(flows: list[list[float]], percent: int) -> None:
    every = sorted(value for flow in flows for value in flow)
    exact = every[math.ceil(percent * len(every) / 100) - 1]
    bucketed_flows = [replace(made_request_flow(size_bytes=1), latency=bucketed(flow)) for flow in flows]
    assert latency_percentile_us(bucketed_flows, percent) == pytest.approx(exact, rel=0.0051)
    assert mean_latency_us(bucketed_flows) == pytest.approx(sum(every) / len(every))


def test_no_latency_has_no_percentile() -> None:
    assert math.isnan(latency_percentile_us([], 99))
    assert math.isnan(mean_latency_us([]))
