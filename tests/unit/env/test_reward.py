"""The reward: its formulas at known points, and the order of good and bad that it must keep."""

from __future__ import annotations

from dataclasses import dataclass, fields, make_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.network.path import Path
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow
from env.reference import FlowReference
from env.reward import (
    TERMS,
    Measured,
    Outcome,
    Reference,
    RewardWeights,
    _term,
    between,
    compute_reward,
    terms_table,
    utility,
)

WEIGHTS = RewardWeights(goodput=1.0, delay=0.3, loss=1.0)
BOTTLENECK = Path(rate_mbps=20, rtt_ms=40)
FULL_MBPS = 20 * 1448 / 1514  # payload


@dataclass
class Counted:
    now_us: int = 0
    rtt_us: int = 40_000
    srtt_us: int = 40_000
    delivered: int = 0
    retransmitted: int = 0
    mss: int = 1448


def reference(path: Path, others: int = 0) -> Reference:
    config = EpisodeConfig(path, (EpisodeFlow("cubic"),) * others)
    return FlowReference(config, EpisodeFlow(LEARNER)).of_interval(0.0, 1.0)


def outcome_of(after: Counted, path: Path = BOTTLENECK, others: int = 0) -> Outcome:
    return compute_reward(between(Counted(), after), reference(path, others), WEIGHTS)


def reward(after: Counted, path: Path = BOTTLENECK, others: int = 0) -> float:
    return float(outcome_of(after, path, others).reward)


def second_of(mbps: float, rtt_ms: float = 40, retransmitted: int = 0) -> Counted:
    return Counted(1_000_000, int(rtt_ms * 1e3), 0, round(mbps * 1e6 / 8 / 1448), retransmitted)


def test_every_term_has_weight_name_and_documentation() -> None:
    names = [entry.name for entry in fields(RewardWeights)]
    outcome = outcome_of(second_of(10))
    assert list(outcome.terms) == names
    assert outcome.reward == sum(outcome.terms.values())
    assert list(outcome.numbers())[: len(names)] == [f"reward/{name}" for name in names]
    assert terms_table().count("\n") == len(names) + 1
    interval = between(Counted(), second_of(10))
    formulas = compute_reward(interval, reference(BOTTLENECK), RewardWeights(**dict.fromkeys(names, 1.0))).terms
    for name in names:
        alone = RewardWeights(**dict.fromkeys(names, 0.0) | {name: 2.0})
        assert compute_reward(interval, reference(BOTTLENECK), alone).reward == pytest.approx(2 * formulas[name])
        assert outcome.terms[name] == pytest.approx(getattr(WEIGHTS, name) * formulas[name])


@pytest.mark.parametrize(("queue_ms", "delay"), [(0, 0), (5.1, 0), (5.2, -0.0002), (5.15 + 51.2, -0.3 * 0.6931)])
def test_a_queue_of_an_eighth_of_the_rtt_is_free(queue_ms: float, delay: float) -> None:
    """Without a queue the RTT is 41.2 ms, with the time of a packet: 5.15 ms are free."""
    terms = outcome_of(second_of(10, 41.2112 + queue_ms)).terms
    assert terms["delay"] == pytest.approx(delay, abs=1e-4)


def test_new_term_of_weight_0_changes_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = between(Counted(), second_of(10, rtt_ms=50))
    before = compute_reward(interval, reference(BOTTLENECK), RewardWeights())
    line = _term(0.0, lambda performance, _: -performance.rtt_ms, "ms", "RTT")
    more = make_dataclass("MoreWeights", [("rtt", float, line)], bases=(RewardWeights,))
    monkeypatch.setitem(TERMS, "rtt", fields(more)[-1].metadata)
    at_default, at_2 = (compute_reward(interval, reference(BOTTLENECK), more(**of)) for of in ({}, {"rtt": 2.0}))
    assert at_default.terms["rtt"] == 0
    assert at_default.reward == before.reward
    assert at_2.reward == pytest.approx(before.reward - 100)


def test_utility_at_known_points() -> None:
    assert utility(0) == 0
    assert utility(0.01) == pytest.approx(0.005)
    assert utility(0.1) == pytest.approx(0.05 + 0.25)
    assert utility(1) == utility(1.5) == 1


@given(st.floats(0, 2), st.floats(0, 2))
def test_utility_rises(a: float, b: float) -> None:
    assert utility(min(a, b)) <= utility(max(a, b))


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_utility_is_concave(a: float, b: float) -> None:
    assert utility((a + b) / 2) >= (utility(a) + utility(b)) / 2 - 1e-12


def test_terms_and_performance_at_known_points() -> None:
    outcome = outcome_of(second_of(10, rtt_ms=90, retransmitted=86))
    assert outcome.performance.goodput_mbps == pytest.approx(10, rel=1e-3)
    assert outcome.performance.rtt_ms == 90
    # two packets of 1514 bytes at 20 Mbit/s take 1.2 ms
    assert outcome.performance.queueing_delay_ms == pytest.approx(90 - 40 - 1.2112)
    assert outcome.performance.loss_rate == pytest.approx(86 / (863 + 86))
    assert outcome.terms["goodput"] > 0 > outcome.terms["delay"]
    assert outcome.terms["loss"] < 0


def test_an_empty_full_link_beats_everything_else() -> None:
    best = reward(second_of(19.1, 41))
    assert best > 0.95
    assert best > reward(second_of(19.1, 60))
    assert best > reward(second_of(17, 41))
    assert best > reward(second_of(19.1, 41, retransmitted=50))


def test_full_link_with_short_queue_wins() -> None:
    """95 % of the link with a small queue must beat both a full link with Cubic's queue and half a link without."""
    wanted = reward(second_of(0.95 * 19.1, 45))
    assert wanted > reward(second_of(19.1, 70)) + 0.05
    assert wanted > reward(second_of(10, 40)) + 0.05


def test_random_loss_costs_nothing() -> None:
    lossy = Path(rate_mbps=20, rtt_ms=40, loss_pct=2)
    packets = second_of(18).delivered
    assert reward(second_of(18, retransmitted=round(packets * 0.02 / 0.98)), lossy) == pytest.approx(
        reward(second_of(18)), abs=1e-3
    )


def test_more_than_a_fair_share_costs_by_octaves() -> None:
    fair, alone = reward(second_of(FULL_MBPS / 2), others=1), reward(second_of(FULL_MBPS))
    assert reward(second_of(FULL_MBPS), others=1) == pytest.approx(fair - WEIGHTS.fairness, abs=1e-3)
    assert fair == pytest.approx(alone, abs=1e-3)
    assert reward(second_of(9), others=1) < fair
    # alone, what comes in a burst is nobody's loss
    assert reward(second_of(30)) == pytest.approx(alone, abs=1e-3)


def test_arrays_equal_single_intervals() -> None:
    seconds = [second_of(mbps, rtt_ms, lost) for mbps, rtt_ms, lost in ((3, 41, 0), (12, 90, 70), (19, 200, 0))]
    measured = [between(Counted(), second) for second in seconds]
    columns = Measured(*(np.array(column) for column in zip(*measured, strict=True)))
    together = compute_reward(columns, reference(BOTTLENECK, 1), WEIGHTS).numbers()
    for i, second in enumerate(seconds):
        for name, number in outcome_of(second, others=1).numbers().items():
            assert together[name][i] == number  # type: ignore[index]


def test_interval_without_samples_uses_smoothed_rtt() -> None:
    after = second_of(10)
    after.rtt_us, after.srtt_us = 0, 90_000
    assert outcome_of(after).performance.rtt_ms == 90


def test_a_stall_has_no_reward() -> None:
    assert reward(Counted(now_us=5_000_000)) == 0
    assert reward(Counted(now_us=0)) == 0  # two observations at the same instant


def test_loopback_reference_has_no_serialization() -> None:
    path = Path(topology="loopback", tc=("tc qdisc add dev lo root netem delay 5ms",), reference_rtt_ms=10)
    assert reference(path).rtt_ms == 10
