"""Round trips until a change is answered, on made-up runs of a link."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from compare.targets.response import (
    bottleneck,
    jain_later,
    jain_when_settled,
    rate_steps,
    round_trips_to_drain,
    round_trips_to_use,
)
from env.lab import FlowResult, RunResult, Table
from env.network.capacity import PAYLOAD_SHARE
from env.network.scenario import Flow, Scenario

DT = 0.01
BASE_MS = 40.0


def scenario(steps: Sequence[dict[str, float]], rate_mbps: float = 20.0, flows: int = 1) -> Scenario:
    path = {"rate_mbps": rate_mbps, "rtt_ms": BASE_MS, "steps": list(steps)}
    return Scenario("made", "claim", 20.0, path=path, flows=[Flow(count=flows)])


def run(
    sent_mbps: Callable[[float], float], wait_ms: Callable[[float], float] = lambda _: 0.0, rate_mbps: float = 20.0
) -> RunResult:
    """A link that sends frames at a rate of time; what waits there, as the time that the first rate takes."""
    t_s = np.round(np.arange(DT, 20 + DT / 2, DT), 6)
    sent = np.cumsum([sent_mbps(t - DT / 2) * DT * 1e6 / 8 for t in t_s])
    backlog = [wait_ms(t) / 1e3 * rate_mbps * 1e6 / 8 for t in t_s]
    rows = np.column_stack([t_s, np.zeros_like(t_s), backlog, sent])
    return RunResult(duration_s=20.0, flows=[], queue=Table(("t_s", "port", "backlog_bytes", "sent_bytes"), rows))


def base_ms(rate_mbps: float) -> float:
    return BASE_MS + 1514 * 8 / rate_mbps / 1e3


def test_round_trip_includes_the_queue() -> None:
    path = scenario([]).network_path()
    link = bottleneck(run(lambda _: 20.0, lambda t: 0.0 if t < 10 else 60.0), path, 20.0)
    assert link is not None
    assert link.round_trips_between(1, 5) == pytest.approx(4e3 / base_ms(20))
    assert link.round_trips_between(11, 15) == pytest.approx(4e3 / (base_ms(20) + 60))
    assert link.time_after(1, 10) == pytest.approx(1 + 10 * base_ms(20) / 1e3, abs=1e-6)
    # what a link of 20 Mbit/s sends in frames
    assert link.sent_between(2, 4) == pytest.approx(2 * 20 * PAYLOAD_SHARE)
    assert bottleneck(RunResult(duration_s=20.0, flows=[]), path, 20.0) is None


def test_rate_step_ends_where_the_next_begins() -> None:
    steps = [{"at_s": 4, "rate_mbps": 40}, {"at_s": 8, "loss_pct": 1}, {"at_s": 12, "rate_mbps": 10}]
    bounds = [
        (step.at_s, step.end_s, step.before_mbps, step.after_mbps)
        for step in rate_steps(scenario(steps).network_path(), 20)
    ]
    assert bounds == [(4, 8, 20, 40), (12, 20, 40, 10)]
    assert list(rate_steps(scenario([]).network_path(), 20)) == []


def test_increase_is_used_at_95_per_cent() -> None:
    up = scenario([{"at_s": 10, "rate_mbps": 40}])
    # at once, after 0.4 s, in which 95 % of five round trips lie a little before, and never
    assert round_trips_to_use(run(lambda t: 20.0 if t < 10 else 40.0), up) == pytest.approx(0, abs=0.01)
    round_trips = round_trips_to_use(run(lambda t: 20.0 if t < 10.4 else 40.0), up)
    # five round trips of which half an increase is missing for a tenth: 95 %
    assert round_trips == pytest.approx(400 / base_ms(40) - 0.5, abs=0.3)
    never = round_trips_to_use(run(lambda t: 20.0 if t < 10 else 37.0), up)
    assert never == pytest.approx(10e3 / base_ms(40), rel=0.01)


def test_of_several_increases_the_slowest_counts() -> None:
    steps = [{"at_s": 5, "rate_mbps": 40}, {"at_s": 10, "rate_mbps": 10}, {"at_s": 15, "rate_mbps": 30}]

    def sent(t_s: float) -> float:
        if t_s < 5:
            return 20.0
        if t_s < 10:
            return 40.0
        return 10.0 if t_s < 15.8 else 30.0

    round_trips = round_trips_to_use(run(sent), scenario(steps))
    assert round_trips == pytest.approx(800 / base_ms(30), abs=0.6)


def test_standing_queue_makes_round_trips_longer() -> None:
    up = scenario([{"at_s": 10, "rate_mbps": 40}])
    # 60 ms of 20 Mbit/s are 30 ms of 40
    round_trips = round_trips_to_use(run(lambda t: 20.0 if t < 10.7 else 40.0, lambda _: 60.0), up)
    assert round_trips == pytest.approx(700 / (base_ms(40) + 30), abs=0.6)


def test_decrease_is_answered_when_queue_is_short() -> None:
    down = scenario([{"at_s": 10, "rate_mbps": 10}])

    # in the time that 20 Mbit/s take; at 10 they take twice that
    def wait_ms(t_s: float) -> float:
        if t_s < 10:
            return 0.0
        return 40.0 if t_s < 10.6 else 5.0

    round_trips = round_trips_to_drain(run(lambda _: 10.0, wait_ms), down)
    # up to 10.6 s a round trip takes 40 + 80 ms
    assert round_trips == pytest.approx(600 / (base_ms(10) + 80), abs=0.2)


def test_late_and_lasting_queues_are_not_drained() -> None:
    down = scenario([{"at_s": 10, "rate_mbps": 10}])
    stays = round_trips_to_drain(run(lambda _: 10.0, lambda t: 0.0 if t < 10.03 else 40.0), down)
    assert stays == pytest.approx(10e3 / (base_ms(10) + 80), rel=0.01)
    # nothing ever waits: one round trip, before which nobody can say
    assert round_trips_to_drain(run(lambda _: 10.0), down) == pytest.approx(1, abs=0.02)


def test_no_step_or_samples_give_nan() -> None:
    assert math.isnan(round_trips_to_use(run(lambda _: 20.0), scenario([{"at_s": 10, "rate_mbps": 10}])))
    assert math.isnan(round_trips_to_drain(run(lambda _: 20.0), scenario([{"at_s": 10, "rate_mbps": 40}])))
    assert math.isnan(
        round_trips_to_use(RunResult(duration_s=20.0, flows=[]), scenario([{"at_s": 10, "rate_mbps": 40}]))
    )


def shares(before: Sequence[float], after: Sequence[float], at_s: float, last_s: float = 2.0) -> RunResult:
    """Flows whose rates change at an instant, the last of which begins at last_s."""
    t_s = np.round(np.arange(DT, 20 + DT / 2, DT), 6)
    flows = []
    for index, (early, late) in enumerate(zip(before, after, strict=True)):
        start_s = last_s if index == len(before) - 1 else 0.0
        times_s = t_s[t_s > start_s]
        received = np.cumsum([(early if t <= at_s else late) * DT * 1e6 / 8 for t in times_s])
        rows = np.column_stack([times_s, received])
        receiver = Table(("t_s", "bytes"), rows)
        flows.append(
            FlowResult(
                scheme="made",
                start_s=start_s,
                duration_s=20 - start_s,
                received_bytes=round(received[-1]),
                receiver=receiver,
            )
        )
    return replace(run(lambda _: 20.0), flows=flows)


def test_shares_are_measured_after_20_round_trips() -> None:
    two = scenario([], flows=2)
    settles_s = 20 * base_ms(20) / 1e3
    # even from then on, uneven to the very end of the 20 round trips, uneven later on
    soon = shares([18, 2], [10, 10], at_s=2 + settles_s - 0.02)
    late = shares([18, 2], [10, 10], at_s=2 + 2 * settles_s + 0.02)
    drifts = shares([10, 10], [18, 2], at_s=2 + 2 * settles_s + 0.02)
    uneven = 20**2 / (2 * (18**2 + 2**2))
    assert jain_when_settled(soon, two) == pytest.approx(1, abs=1e-6)
    assert jain_when_settled(late, two) == pytest.approx(uneven, abs=1e-6)
    assert jain_when_settled(drifts, two) == pytest.approx(1, abs=1e-6)
    assert jain_later(soon, two) == pytest.approx(1, abs=1e-6)
    assert jain_later(drifts, two) < 0.65


def test_a_run_that_ends_before_has_no_shares() -> None:
    two = scenario([], flows=2)
    assert math.isnan(jain_when_settled(shares([1, 1], [1, 1], 1, last_s=18.5), two))
    assert math.isnan(jain_later(shares([1, 1], [1, 1], 1, last_s=19.5), two))
    assert jain_later(shares([1, 1], [1, 1], 1, last_s=18.5), two) == pytest.approx(1, abs=1e-6)


def test_flows_of_others_do_not_count() -> None:
    beside = scenario([])
    beside.flows = [Flow(), Flow(), Flow(scheme="cubic")]
    result = shares([5, 5, 10], [5, 5, 10], at_s=5)
    assert jain_when_settled(result, beside) == pytest.approx(1, abs=1e-6)
