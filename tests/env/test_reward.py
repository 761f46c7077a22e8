"""The reward: its formulas at known points, and the order of good and bad that it must keep."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.network.path import Path
from env.reward import Reference, RewardWeights, judge, utility

WEIGHTS = RewardWeights(goodput=1.0, delay=0.3, loss=1.0)
BOTTLENECK = Path(rate_mbps=20, rtt_ms=40)


@dataclass
class Counted:
    now_us: int = 0
    rtt_us: int = 40_000
    srtt_us: int = 40_000
    delivered: int = 0
    retransmitted: int = 0
    mss: int = 1448


def reward(after: Counted, path: Path = BOTTLENECK, rivals: int = 0) -> float:
    outcome = judge(Counted(), after, Reference.of(path, rivals), WEIGHTS)
    return outcome.goodput + outcome.delay + outcome.loss


def second_of(mbps: float, rtt_ms: float = 40, retransmitted: int = 0) -> Counted:
    return Counted(1_000_000, int(rtt_ms * 1e3), 0, round(mbps * 1e6 / 8 / 1448), retransmitted)


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


def test_parts_are_told_apart() -> None:
    outcome = judge(Counted(), second_of(10, rtt_ms=90, retransmitted=86), Reference.of(BOTTLENECK), WEIGHTS)
    assert outcome.goodput_mbps == pytest.approx(10, rel=1e-3)
    assert outcome.rtt_ms == 90
    # two packets of 1514 bytes at 20 Mbit/s take 1.2 ms
    assert outcome.queueing_delay_ms == pytest.approx(90 - 40 - 1.2112)
    assert outcome.loss_rate == pytest.approx(86 / (863 + 86))
    assert outcome.goodput > 0 > outcome.delay
    assert outcome.loss < 0


def test_an_empty_full_link_beats_everything_else() -> None:
    best = reward(second_of(19.1, 41))
    assert best > 0.95
    assert best > reward(second_of(19.1, 60))
    assert best > reward(second_of(17, 41))
    assert best > reward(second_of(19.1, 41, retransmitted=50))


def test_the_targets_are_worth_it() -> None:
    """95 % of the link with a small queue must beat both a full link with Cubic's queue and half a link without."""
    wanted = reward(second_of(0.95 * 19.1, 45))
    assert wanted > reward(second_of(19.1, 70)) + 0.05
    assert wanted > reward(second_of(10, 40)) + 0.05


def test_random_loss_is_no_fault() -> None:
    lossy = Path(rate_mbps=20, rtt_ms=40, loss_pct=2)
    packets = second_of(18).delivered
    assert reward(second_of(18, retransmitted=round(packets * 0.02 / 0.98)), lossy) == pytest.approx(
        reward(second_of(18)), abs=1e-3
    )


def test_a_fair_share_is_all_there_is() -> None:
    assert reward(second_of(10), rivals=1) == pytest.approx(reward(second_of(19), rivals=1), abs=1e-3)


def test_an_interval_without_samples_counts_with_the_smoothed_rtt() -> None:
    after = second_of(10)
    after.rtt_us, after.srtt_us = 0, 90_000
    assert judge(Counted(), after, Reference.of(BOTTLENECK), WEIGHTS).rtt_ms == 90


def test_a_stall_is_worth_nothing() -> None:
    assert reward(Counted(now_us=5_000_000)) == 0
    assert reward(Counted(now_us=0)) == 0  # two observations at the same instant


def test_loopback_has_no_serialisation_on_top_of_its_measured_reference() -> None:
    path = Path(topology="loopback", tc=("tc qdisc add dev lo root netem delay 5ms",), reference_rtt_ms=10)
    assert Reference.of(path).rtt_ms == 10
