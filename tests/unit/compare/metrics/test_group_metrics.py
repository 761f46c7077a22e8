from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.errors import CompareError
from compare.metrics.group_metrics import (
    find_groups,
    group_metrics,
    has_groups,
    jain_index,
    latency_percentile_us,
    mean_latency_us,
    size_label,
)
from env.lab import FlowResult
from env.lab.result import Latency
from tests.support.recorded import made_flow, made_request_flow, recorded


def named(flows: list[FlowResult], under_test: list[bool] | None = None) -> dict[str, float]:
    found = group_metrics(flows, under_test or [True] * len(flows))
    return {metric.name: value for metric, value in found.items()}


def test_one_bulk_flow_has_no_groups() -> None:
    flows = recorded().flows
    assert not has_groups(flows)
    assert group_metrics(flows, [True]) == {}


def test_one_flow_of_requests_is_its_own_summary() -> None:
    found = named([made_request_flow(size_bytes=10_000, rate_mbps=80, retransmits=5, segments=1000, cwnd=12)])
    assert found == {
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


def test_flows_of_two_sizes_are_summed_up_and_averaged_by_size() -> None:
    """The rows .0, .10 and .12 of the paper's Table 3, in small."""
    large = [
        made_request_flow(size_bytes=1 << 20, client=c, rate_mbps=r, cwnd=w, retransmits=n, latencies=[(990, 1010, 10)])
        for c, r, w, n in ((0, 100, 40, 30), (1, 200, 60, 10))
    ]
    small = [made_request_flow(size_bytes=10_240, client=1, rate_mbps=30, cwnd=8, latencies=[(99, 101, 1000)])]
    found = named(large + small)
    assert found["rate"] == pytest.approx(330)
    assert (found["rate_min"], found["rate_max"]) == (pytest.approx(30), pytest.approx(200))
    assert found["cwnd"] == pytest.approx(36)
    assert found["retrans_total"] == 40
    assert found["retrans_pct"] == pytest.approx(100 * 40 / 3000)
    # a mean over the flows, not over the 1020 requests, of which 1000 are small
    assert found["mean_latency"] == pytest.approx(700)
    assert found["p99_latency"] == pytest.approx(700)
    assert found["rate_1M"] == pytest.approx(150)
    assert found["cwnd_1M"] == pytest.approx(50)
    assert found["retrans_total_1M"] == pytest.approx(20)
    assert found["mean_latency_1M"] == pytest.approx(1000)
    assert (found["rate_10K"], found["mean_latency_10K"], found["cwnd_10K"]) == (pytest.approx(30), 100, 8)
    assert not any(name.endswith("_client") for name in found)
    assert found["jain"] == pytest.approx(jain_index([100, 200, 30]))


def test_flows_of_one_size_are_averaged_by_client() -> None:
    """The rows .0 and .1 of Tables 4 to 6: of each client the sum and the extremes of its flows, then the mean."""
    flows = [
        made_request_flow(size_bytes=1 << 20, client=client, rate_mbps=rate, retransmits=n)
        for client, rate, n in ((0, 10, 1), (0, 30, 3), (1, 20, 0), (1, 60, 4))
    ]
    found = named(flows)
    assert (found["rate"], found["rate_min"], found["rate_max"]) == (
        pytest.approx(120),
        pytest.approx(10),
        pytest.approx(60),
    )
    assert (found["rate_client"], found["rate_min_client"], found["rate_max_client"]) == (
        pytest.approx(60),
        pytest.approx(15),
        pytest.approx(45),
    )
    assert (found["retrans_total"], found["retrans_total_client"]) == (8, 4)


def test_one_flow_for_each_client_needs_no_average_by_client() -> None:
    flows = [made_request_flow(size_bytes=1 << 20, client=client) for client in (0, 1)]
    assert [group.label for group in find_groups(flows, [True, True])] == [""]


def test_other_schemes_are_groups_of_their_own_and_out_of_the_fairness() -> None:
    flows = [made_request_flow(size_bytes=1 << 20, client=i, rate_mbps=r) for i, r in enumerate((10, 10, 80))]
    flows[2].scheme = "reno"
    found = named(flows, [True, True, False])
    assert found["jain"] == pytest.approx(1)
    assert (found["rate_under_test"], found["rate_reno"]) == (pytest.approx(10), pytest.approx(80))
    # reno under test beside reno: still apart
    for flow in flows:
        flow.scheme = "reno"
    assert named(flows, [True, True, False])["rate_reno"] == pytest.approx(80)


def test_a_flow_that_joins_late_counts_over_its_own_time_and_the_sum_over_all() -> None:
    first = made_request_flow(size_bytes=1 << 20, rate_mbps=50, start_s=0.0, duration_s=4.0)
    second = made_request_flow(size_bytes=1 << 20, client=1, rate_mbps=40, start_s=1.0, duration_s=2.0)
    found = named([first, second])
    assert found["rate"] == pytest.approx((50 * 4 + 40 * 2) / 4)
    assert (found["rate_min"], found["rate_max"]) == (pytest.approx(40), pytest.approx(50))


def test_bulk_flows_have_no_latency_and_what_cannot_be_computed_is_nan() -> None:
    flow = made_flow(sent=[(1.0, 10, 0)], received=[(4.0, 0)])
    found = named([flow, flow])
    for name in ("mean_latency", "p99_latency", "rtt", "retrans_pct", "jain"):
        assert math.isnan(found[name]), name
    with pytest.raises(CompareError, match="duration_s is 0"):
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
def test_merged_percentiles_are_those_of_all_latencies_within_a_bucket(flows: list[list[float]], percent: int) -> None:
    every = sorted(value for flow in flows for value in flow)
    exact = every[math.ceil(percent * len(every) / 100) - 1]
    made = [replace(made_request_flow(size_bytes=1), latency=bucketed(flow)) for flow in flows]
    assert latency_percentile_us(made, percent) == pytest.approx(exact, rel=0.0051)
    assert mean_latency_us(made) == pytest.approx(sum(every) / len(every))


def test_no_latency_has_no_percentile() -> None:
    assert math.isnan(latency_percentile_us([], 99))
    assert math.isnan(mean_latency_us([]))
