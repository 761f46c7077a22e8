"""Winning rates: how often a scheme is among the best of a scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from compare.metrics.cells import Cell
from compare.statistics.winning_rates import MARGIN, best_schemes, winning_rates
from env.network.scenario import Flow
from tests.support.results import made_cells, made_scenario

VERSUS = [Flow(), Flow(scheme="cubic")]


def single(name: str, values: Mapping[str, tuple[float, float]], failed: Mapping[str, int] | None = None) -> list[Cell]:
    """values: scheme to (goodput, rtt_mean), the same for two seeds."""
    of_runs = {scheme: {"goodput": [rate] * 2, "rtt_mean": [rtt] * 2} for scheme, (rate, rtt) in values.items()}
    return made_cells(made_scenario(name), of_runs | {scheme: {} for scheme in failed or {}}, failed)


def versus(name: str, values: Mapping[str, Sequence[float]], metric: str = "fair_share_gap") -> list[Cell]:
    return made_cells(made_scenario(name, VERSUS), {scheme: {metric: of_runs} for scheme, of_runs in values.items()})


@pytest.mark.parametrize(
    ("scores", "better", "expected"),
    [
        ({"a": 10.0, "b": 9.0, "c": 8.99}, 1, ["a", "b"]),
        ({"a": 1.0, "b": 1.1, "c": 1.11}, -1, ["a", "b"]),
        ({"a": 0.0, "b": 0.0, "c": 0.01}, -1, ["a", "b"]),
        ({"a": 0.0, "b": 0.0}, 1, ["a", "b"]),
        ({}, 1, []),
    ],
)
def test_schemes_within_ten_per_cent_win(scores: dict[str, float], better: int, expected: list[str]) -> None:
    assert best_schemes(scores, better) == expected
    assert MARGIN == 0.1


def test_a_single_flow_scores_goodput_squared_over_delay() -> None:
    # 100/50 = 2, 81/40 = 2.025 and 100/60 = 1.67: less than 0.9 * 2.025
    cells = single("delay/rtt_10ms", {"reno": (10, 50), "cubic": (9, 40), "bbr": (10, 60)})
    # 4, 1, 4: goodput counts twice
    cells += single("delay/rtt_50ms", {"reno": (20, 100), "cubic": (10, 100), "bbr": (20, 100)})
    rates = winning_rates(cells)
    assert [(rate.scheme, rate.rate.mean, rate.won) for rate in rates.single_flow] == [
        ("reno", 1.0, ("delay/rtt_10ms", "delay/rtt_50ms")),
        ("cubic", 0.5, ("delay/rtt_10ms",)),
        ("bbr", 0.5, ("delay/rtt_50ms",)),
    ]
    assert all(rate.rate.interval is None and len(rate.counted) == 2 for rate in rates.single_flow)  # of two scenarios
    assert rates.friendliness == ()


def test_score_is_the_mean_over_seeds() -> None:
    # 1 and 9 have mean 5; the mean goodput's would be 4
    values = {
        "reno": {"goodput": [1.0, 3.0], "rtt_mean": [1.0, 1.0]},
        "cubic": {"goodput": [4.4**0.5] * 2, "rtt_mean": [1.0, 1.0]},
    }
    (first, second) = winning_rates(made_cells(made_scenario("bottleneck"), values)).single_flow
    assert (first.scheme, first.rate.mean, second.rate.mean) == ("reno", 1.0, 0.0)


def test_closeness_is_counted_apart_and_less_is_better() -> None:
    cells = versus("compete/cubic_1v1", {"reno": [1.0, 3.0], "bbr": [2.2, 2.2], "vegas": [2.3, 2.3]})
    cells += single("bottleneck", {"reno": (1, 1), "bbr": (2, 1), "vegas": (1, 1)})
    rates = winning_rates(cells)
    assert {rate.scheme: rate.rate.mean for rate in rates.closeness} == {"reno": 1, "bbr": 1, "vegas": 0}
    assert {rate.scheme: rate.rate.mean for rate in rates.single_flow} == {"bbr": 1, "reno": 0, "vegas": 0}


@pytest.mark.parametrize(
    ("shares", "winners"),
    [
        # Cubic's runs have a distance of 0.1 on average: the band is 0.9 * 0.9 to 1.1 * 1.1
        ({"cubic": [0.9, 1.1], "reno": [0.8, 0.83], "bbr": [1.21, 1.2]}, {"cubic", "reno", "bbr"}),
        ({"cubic": [0.9, 1.1], "reno": [0.8, 0.81], "bbr": [1.22, 1.21]}, {"cubic"}),
        # the nearest scheme is far away, on either side
        ({"vegas": [0.5], "reno": [1.64], "bbr": [1.66]}, {"vegas", "reno"}),
    ],
)
def test_friendliness_is_a_band_around_the_fair_share(shares: dict[str, list[float]], winners: set[str]) -> None:
    """The rule of ccBench: within 10 % of fair share - g and fair share + g; g is the smallest mean distance."""
    rates = winning_rates(versus("compete/cubic_1v1", shares, "share_cubic")).friendliness
    assert {rate.scheme for rate in rates if rate.won} == winners


def test_the_interval_is_over_the_scenarios() -> None:
    cells = [
        cell
        for i in range(10)
        for cell in single(f"s{i}", {"reno": (2, 1) if i < 6 else (1, 1), "cubic": (1, 1) if i < 6 else (2, 1)})
    ]
    rates = {rate.scheme: rate.rate for rate in winning_rates(cells).single_flow}
    assert (rates["reno"].mean, rates["cubic"].mean, rates["reno"].n) == (0.6, 0.4, 10)
    lo, hi = rates["reno"].interval or (math.nan, math.nan)
    # of Binomial(10, 0.6) / 10 the 2.5 and 97.5 % points are 0.3 and 0.9
    assert (lo, hi) == pytest.approx((0.3, 0.9), abs=0.11)


def test_failed_scheme_loses_missing_scheme_is_not_counted() -> None:
    cells = single("s0", {"reno": (2, 1), "cubic": (1, 1)}, failed={"bbr": 2})
    cells += single("s1", {"reno": (2, 1), "cubic": (1, 1), "bbr": (2, 1)})
    rates = {rate.scheme: rate for rate in winning_rates(cells).single_flow}
    assert (rates["bbr"].rate.mean, rates["bbr"].counted) == (0.5, ("s0", "s1"))
    cells[2].failed = {}
    cells[2].missing = [1, 2]
    rates = {rate.scheme: rate for rate in winning_rates(cells).single_flow}
    assert (rates["bbr"].rate.mean, rates["bbr"].counted) == (1.0, ("s1",))


def test_a_scheme_above_the_limit_has_lost_there() -> None:
    """Goodput, mean RTT and retransmissions per MB of one run each; the LTE links with path.buffer_bdp=0.1."""
    measured = {
        "access/wifi": {"ndm": (20.1, 52.2, 0.0), "bbr": (22.1, 126.1, 21.2), "cubic": (23.9, 124.5, 0.502)},
        "access/lte": {"ndm": (6.73, 56.9, 23.4), "bbr": (9.07, 58.9, 152.7), "cubic": (3.30, 58.8, 7.52)},
        "access/lte_train": {"ndm": (2.42, 72.0, 48.7), "bbr": (3.35, 71.8, 214.8), "cubic": (1.26, 75.4, 18.8)},
    }
    cells = []
    for name, of_schemes in measured.items():
        names = ("goodput", "rtt_mean", "retransmits_per_mb")
        values = {
            scheme: {metric: [value] for metric, value in zip(names, figures, strict=True)}
            for scheme, figures in of_schemes.items()
        }
        cells += made_cells(made_scenario(name), values)
    rates = {rate.scheme: rate for rate in winning_rates(cells).single_flow}
    assert {scheme: len(rate.won) for scheme, rate in rates.items()} == {"bbr": 2, "ndm": 1, "cubic": 0}
    assert {scheme: rate.rate_within_limit for scheme, rate in rates.items()} == {"bbr": 0, "ndm": 1, "cubic": 0}
    costs = {scheme: rate.retransmits_per_mb for scheme, rate in rates.items()}
    assert costs == {"bbr": 152.7, "ndm": 23.4, "cubic": 7.52}
    assert rates["bbr"].costs == ("153", "0")


def test_nobody_wins_when_all_are_above_the_limit() -> None:
    values = {scheme: {"share_cubic": [1.0], "retransmits_per_mb": [100.1]} for scheme in ("reno", "bbr")}
    rates = winning_rates(made_cells(made_scenario("compete/cubic_1v1", VERSUS), values)).friendliness
    assert {(rate.rate.mean, rate.rate_within_limit) for rate in rates} == {(1, 0)}


def test_without_retransmits_there_is_no_cost() -> None:
    (first, _) = winning_rates(single("s0", {"reno": (2, 1), "cubic": (1, 1)})).single_flow
    assert (first.rate_within_limit, first.costs) == (1, ("–", "100"))


def test_nothing_received_is_no_win() -> None:
    cells = single("s0", {"reno": (0.0, math.nan), "cubic": (1, 1), "bbr": (1, 1)})
    assert {rate.scheme: rate.rate.mean for rate in winning_rates(cells).single_flow}["reno"] == 0


@pytest.mark.parametrize(
    "flows",
    [
        [Flow(kind="request", size_bytes=1000)],
        [Flow(count=2)],
        [Flow(), Flow(scheme="cubic", kind="request", size_bytes=1000)],
        [Flow(), Flow()],
    ],
    ids=["requests", "two of one scheme", "requests of another", "two"],
)
def test_other_scenarios_do_not_count(flows: list[Flow]) -> None:
    scenario = made_scenario("other", flows)
    values = {"goodput": [1.0], "rtt_mean": [1.0], "fair_share_gap": [1.0], "share_cubic": [1.0]}
    rates = winning_rates(made_cells(scenario, {"reno": values, "cubic": values}))
    assert (rates.single_flow, rates.friendliness, rates.closeness) == ((), (), ())


def test_a_scheme_that_is_alone_wins_nothing() -> None:
    assert winning_rates(single("s0", {"reno": (1, 1)})).single_flow == ()
