"""The physical bounds of requirements, against small cases worked out by hand, and the thresholds that they allow."""

from __future__ import annotations

from typing import Any

import pytest

from compare.targets import reach
from compare.targets.catalogue import TARGETS
from compare.targets.figures import metric
from compare.targets.requirement import Bound, InEachScenario, Judgement, at_least, at_most
from env.network.scenario import Flow, Scenario, load_scenario


def scenario(duration_s: float = 10.0, flows: list[Flow] | None = None, **path: Any) -> Scenario:
    return Scenario("s", "", duration_s, path={"rate_mbps": 12.112, "rtt_ms": 100} | path, flows=flows or [Flow()])


def stepped(factor: float) -> Scenario:
    return scenario(steps=[{"at_s": 5, "rate_mbps": 12.112 * factor}])


def test_a_window_of_ten_doubles_until_the_path_is_full() -> None:
    # 100 packets of BDP. The first packet arrives after 1.5 round trips; then 10, 20, 40, 80 and 100 arrive in one each
    lost_round_trips = 1 + 0.9 + 0.8 + 0.6 + 0.2
    assert reach.idle_pct(scenario()) == pytest.approx(lost_round_trips)  # of the 100 in ten seconds
    assert reach.utilisation_pct(scenario(flows=[Flow(count=10)])) == pytest.approx(99)
    assert reach.utilisation_pct(scenario(police_mbps=5, police_burst_kb=20)) == 100
    assert reach.goodput_mbps(scenario(loss_pct=1)) == pytest.approx(12.112 * 1448 / 1514 * 0.965 * 0.99)


def test_packets_of_a_queue_take_their_time_on_the_link() -> None:
    assert reach.one_packet_ms(scenario()) == pytest.approx(1)
    assert reach.three_packets_ms(scenario()) == pytest.approx(3)


def test_an_increase_is_used_when_the_window_has_doubled_often_enough() -> None:
    # a link twice as fast: half of a round trip is lost, and a quarter of one is 5 % of five
    assert reach.round_trips_to_use(stepped(2)) == pytest.approx(0.5)
    # four times: a quarter for one round trip, half for one
    assert reach.round_trips_to_use(stepped(4)) == pytest.approx(1.5)
    assert reach.round_trips_to_use(stepped(0.5)) == 0


def test_a_decrease_leaves_the_packets_of_one_round_trip() -> None:
    # half of the rate: the queue grows to one round trip while ln 2 of them pass, and falls to a quarter in ln 1.6
    assert reach.round_trips_to_drain(stepped(0.5)) == pytest.approx(0.6931 + 0.4700, abs=1e-3)
    # a thirty-second takes a second decision
    assert reach.round_trips_to_drain(stepped(1 / 32)) == pytest.approx(0.1118 + 3.2426 + 1, abs=1e-3)
    assert reach.round_trips_to_drain(stepped(2)) == 0


def test_requests_without_a_pause_share_the_link() -> None:
    request = Flow(kind="request", size_bytes=15140)
    assert reach.latency_us(scenario(flows=[Flow(), request])) == pytest.approx(110_000)
    request.count = 100
    assert reach.latency_us(scenario(flows=[Flow(), request])) == pytest.approx(1_000_000)
    request.pause_ms = 1
    assert reach.latency_us(scenario(flows=[Flow(), request])) == pytest.approx(110_000)
    assert reach.latency_us(load_scenario("internet/incast_64")) > 3000


def test_the_others_can_have_the_link_alone() -> None:
    assert reach.left_to_others(scenario(flows=[Flow(), Flow(scheme="cubic")])) == 2
    assert reach.left_to_others(scenario(flows=[Flow(count=3), Flow(scheme="cubic")])) == 4


def test_a_threshold_beyond_the_bound_says_so() -> None:
    """As in a quick look of a few seconds, which are too short for slow start."""
    requirement = InEachScenario("used", "", "%", ("s",), metric("goodput"), at_least(95), reach.utilisation_pct)
    beyond = Judgement.of(requirement, "s", "ndm", {1: 90.0}, Bound(low=95), reach=93)
    assert beyond.statement == "missed by 5.26 %; the threshold is beyond the best that a sender can have"
    assert Judgement.of(requirement, "s", "ndm", {1: 96.0}, Bound(low=95), reach=96.5).statement == "met"


FIXED = [
    (target.name, one, name)
    for target in TARGETS.values()
    for one in target.requirements
    if isinstance(one, InEachScenario) and one.bound.__qualname__.startswith((at_least.__name__, at_most.__name__))
    for name in one.scenarios
]


def test_no_fixed_threshold_is_beyond_its_bound() -> None:
    scenarios = {one.name: one for target in TARGETS.values() for one in target.make()}
    assert len(FIXED) > 90
    for target, requirement, name in FIXED:
        bound = requirement.bound(None, name, "ndm")  # type: ignore[arg-type]  # a fixed one needs no evidence
        assert bound is not None
        best = requirement.reach(scenarios[name])
        assert bound.holds(best), f"{target}.{requirement.name} in {name}: {bound}, at best {best}"
