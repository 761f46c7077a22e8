"""The metrics of flows that share a link: convergence, stability, fair shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.metrics.sharing import convergences, fair_shares_mbps, phases, sharing_metrics
from env.lab import FlowResult, Table
from env.network.capacity import PAYLOAD_SHARE, network_capacity
from env.network.path import Path
from env.network.scenario import Flow, Scenario
from env.network.step import Step

PATH = Path(rate_mbps=20 / PAYLOAD_SHARE)  # 20 Mbit/s of payload


def flow(
    rate_mbps: Callable[[float], float], start_s: float = 0.0, end_s: float = 40.0, scheme: str = "reno"
) -> FlowResult:
    """A flow of a given rate over time, sampled every 50 ms."""
    t_s = np.round(np.arange(start_s + 0.05, end_s + 0.01, 0.05), 6)
    received = np.cumsum([rate_mbps(t - 0.025) * 0.05 * 1e6 / 8 for t in t_s])
    return FlowResult(
        scheme=scheme,
        start_s=start_s,
        duration_s=end_s - start_s,
        received_bytes=received[-1],
        receiver=Table(("t_s", "bytes"), np.column_stack([t_s, received])),
    )


def scenario(flows: Sequence[Flow], path: Path = PATH, duration_s: float = 40.0) -> Scenario:
    values = {key: value for key, value in path.as_dict().items() if key not in ("steps", "tc", "client_extra_rtt_ms")}
    steps = [{"at_s": step.at_s} | step.changes() for step in path.steps]
    return Scenario("made", "claim", duration_s, path=values | {"steps": steps}, flows=list(flows))


def measured(flows: list[FlowResult], scenario: Scenario) -> dict[str, float]:
    return {metric.name: value for metric, value in sharing_metrics(flows, scenario).items()}


def test_convergence_needs_five_seconds_near_the_share() -> None:
    # too slow for 3 s, within the band for 4 s, too fast for a second, and within it from 8 s on
    def rate(t_s: float) -> float:
        if t_s < 3 or 7 <= t_s < 8:
            return 10.0 if t_s < 3 else 30.0
        return 16.0

    (convergence,) = convergences([flow(rate)], PATH, network_capacity(PATH, 40.0))
    # windows of a second, looked at every 0.1 s: one that has 0.7 s of 16 and 0.3 s of 30 is within 25 % of 20
    assert (convergence.kind, convergence.converged) == ("entry", True)
    assert convergence.seconds == pytest.approx(7.4, abs=0.11)
    assert convergence.deviation_mbps == pytest.approx(0, abs=2.0)


def test_stability_is_the_deviation_of_seconds_after_convergence() -> None:
    (convergence,) = convergences([flow(lambda t: 19.0 if int(t) % 2 else 21.0)], PATH, network_capacity(PATH, 40.0))
    assert (convergence.seconds, convergence.converged) == (0, True)
    # 40 values of 20 +- 1
    assert convergence.deviation_mbps == pytest.approx((40 / 39) ** 0.5)


def test_flow_that_never_converges_counts_entire_time() -> None:
    flows = [flow(lambda _: 10.0), flow(lambda _: 5.0, start_s=10.0)]
    metrics = measured(flows, scenario([Flow(), Flow(start_s=10)]))
    # the first one is alone for 10 s, with half of the link; the second has half of its share for 30 s
    assert metrics["convergence"] == pytest.approx((10 + 30) / 2)
    assert metrics["converged"] == 0
    assert math.isnan(metrics["stability"])


def test_a_short_phase_holds_a_quarter_of_it() -> None:
    # 8 s alone: 2 s are enough; within the band from 5 s on
    flows = [flow(lambda t: 20.0 if t > 5 else 1.0, end_s=8.0)]
    (convergence,) = convergences(flows, PATH, network_capacity(PATH, 8.0))
    assert convergence.converged
    # windows of 0.4 s; one with 0.1 s of 1 and 0.3 s of 20 is at 15.25
    assert convergence.seconds == pytest.approx(4.9, abs=0.05)


def test_convergence_after_end_and_step_are_separate() -> None:
    path = Path(rate_mbps=PATH.rate_mbps, steps=(Step(at_s=60, rate_mbps=PATH.rate_mbps / 2), Step(at_s=70, rtt_ms=10)))

    def first(t_s: float) -> float:
        if t_s < 20:
            return 20.0
        if t_s < 42:  # two seconds late after the other's end at 40 s
            return 10.0
        return 20.0 if t_s < 63 else 10.0  # and three after the step

    flows = [flow(first, end_s=90.0), flow(lambda t: 10.0 if t > 24 else 1.0, start_s=20.0, end_s=40.0)]
    shared = scenario([Flow(), Flow(start_s=20, duration_s=20)], path, 90.0)
    kinds = [(one.flow, one.kind) for one in convergences(flows, path, network_capacity(path, 90.0))]
    assert kinds == [(0, "entry"), (1, "entry"), (0, "end"), (0, "step")]
    metrics = measured(flows, shared)
    # 0 and 4 s, a quarter of a window before it
    assert metrics["convergence"] == pytest.approx(3.9 / 2, abs=0.3)
    assert metrics["convergence_after_end"] == pytest.approx(1.6, abs=0.3)
    assert metrics["convergence_after_step"] == pytest.approx(2.8, abs=0.3)
    assert metrics["converged"] == 100


def test_flows_starting_within_a_second_are_one_change() -> None:
    flows = [flow(lambda _: 10.0, start_s=0.3), flow(lambda _: 10.0, start_s=0.9)]
    (phase,) = phases(flows, PATH)
    assert (phase.begin_s, phase.end_s, phase.entered) == (0.9, 40.0, (0, 1))
    entries = convergences(flows, PATH, network_capacity(PATH, 40.0))
    # from each flow's own entry
    assert [one.seconds for one in entries] == pytest.approx([0.6, 0.0])


def test_phases_shorter_than_two_seconds_are_ignored() -> None:
    flows = [flow(lambda _: 10.0), flow(lambda _: 10.0, start_s=20.0, end_s=21.5)]
    assert [(one.flow, one.kind) for one in convergences(flows, PATH, network_capacity(PATH, 40.0))] == [
        (0, "entry"),
        (0, "end"),
    ]


def test_fair_share_divides_capacity_by_active_flows() -> None:
    flows = [flow(lambda _: 1.0), flow(lambda _: 1.0, start_s=10.0, end_s=30.0)]
    # alone for 20 of 40 s, half of it in the others
    assert fair_shares_mbps(flows, network_capacity(PATH, 40.0)) == pytest.approx([15, 10])


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=6))
def test_fair_shares_add_up_to_the_capacity(spans: list[tuple[int, int]]) -> None:
    flows = [FlowResult(scheme="made", start_s=start, duration_s=length, received_bytes=0) for start, length in spans]
    shares = fair_shares_mbps(flows, network_capacity(PATH, 40.0))
    busy = {second for start, length in spans for second in range(start, start + length)}
    carried = sum(share * length for share, (_, length) in zip(shares, spans, strict=True))
    assert carried == pytest.approx(20 * len(busy))


def test_share_and_distance_beside_cubic() -> None:
    flows = [flow(lambda _: 5.0), flow(lambda _: 10.0), flow(lambda _: 5.0, scheme="cubic")]
    metrics = measured(flows, scenario([Flow(count=2), Flow(scheme="cubic")]))
    fair = 20 / 3
    assert metrics["share_cubic"] == pytest.approx(7.5 / fair)
    assert metrics["fair_share_gap"] == pytest.approx(((fair - 5) + (10 - fair)) / 2)


@pytest.mark.parametrize(
    "other",
    [
        scenario([Flow(), Flow(kind="request", size_bytes=1000)]),
        Scenario("made", "claim", 40.0, rack={}, flows=[Flow()]),
        Scenario(
            "made",
            "claim",
            40.0,
            path={"topology": "loopback", "tc": ["tc qdisc add dev lo root netem delay 1ms"]},
            flows=[Flow()],
        ),
    ],
    ids=["requests", "rack", "loopback"],
)
def test_other_scenarios_have_no_sharing_metrics(other: Scenario) -> None:
    assert measured([flow(lambda _: 1.0)], other) == {}


def test_a_scheme_alone_has_no_share_beside_another() -> None:
    metrics = measured([flow(lambda _: 20.0)], scenario([Flow()]))
    assert list(metrics) == ["convergence", "converged", "stability"]
    assert metrics["convergence"] == 0
