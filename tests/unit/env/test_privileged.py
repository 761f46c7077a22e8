"""The privileged observation against hand counts."""

from __future__ import annotations

import math
from dataclasses import make_dataclass
from itertools import combinations

import numpy as np
import pytest

from env.network.path import Path
from env.network.step import Step
from env.privileged import AHEAD_RTTS, BUCKETS, PRIVILEGED, buckets_of, in_buckets, privileged_observation
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow, PathSampler, load_profile
from env.reward import RewardWeights

WEIGHTS = RewardWeights(goodput=2.0, delay=0.1, loss=3.0, fairness=0.5)
FIRST = EpisodeFlow(LEARNER)


def privileged(config: EpisodeConfig, t_s: list[float], learner: EpisodeFlow = FIRST) -> dict[str, np.ndarray]:
    inputs = privileged_observation(config, learner, WEIGHTS, np.array(t_s))
    assert inputs.dtype == np.float32
    assert inputs.shape == (len(t_s), len(PRIVILEGED))
    return dict(zip(PRIVILEGED, inputs.T, strict=True))


def test_path_and_weights_are_constant() -> None:
    config = EpisodeConfig(Path(rate_mbps=10, rtt_ms=100, loss_pct=1))
    inputs = privileged(config, [0.0, 3.0])
    for name, value in zip(PRIVILEGED, config.features(), strict=False):
        assert inputs[name].tolist() == [value, value]
    expected = in_buckets({"goodput": 2.0, "delay": 0.1, "loss": 3.0, "fairness": 0.5})
    assert [inputs[f"weights_{bucket}"][1] for bucket in range(BUCKETS)] == pytest.approx(expected)


def test_flows_count_by_scheme_once_they_begin() -> None:
    others = (EpisodeFlow(LEARNER, 2.0), EpisodeFlow("cubic", 1.0), EpisodeFlow("cubic", 4.0), EpisodeFlow("bbr", 3.0))
    inputs = privileged(EpisodeConfig(Path(), others), [0.0, 1.0, 2.5, 5.0])
    assert inputs["learners"].tolist() == [0.25, 0.25, 0.5, 0.5]
    begun = {"cubic": np.array([0.0, 1.0, 1.0, 2.0]), "bbr": np.array([0.0, 0.0, 0.0, 1.0])}
    for bucket, expected in enumerate(in_buckets(begun)):
        assert inputs[f"rivals_{bucket}"].tolist() == np.broadcast_to(expected, 4).tolist()


def test_a_name_keeps_its_buckets() -> None:
    """A critic that was trained before reads them; no name that is added later changes them."""
    assert [buckets_of(name) for name in ("cubic", "snapshot", "delay")] == [(14, 9), (6, 1), (14, 6)]


def test_two_names_hardly_ever_share_both_buckets() -> None:
    names = [f"scheme_{i}" for i in range(200)]
    pairs = [frozenset(buckets_of(name)) for name in names]
    assert {len(pair) for pair in pairs} == {2}
    same = sum(one == other for one, other in combinations(pairs, 2))
    assert same / math.comb(len(names), 2) == pytest.approx(1 / math.comb(BUCKETS, 2), rel=0.2)


def test_another_scheme_or_term_changes_no_width() -> None:
    more = make_dataclass("MoreWeights", [("smoothness", float, 0.5)], bases=(RewardWeights,))
    config = EpisodeConfig(Path(), (EpisodeFlow("a_new_scheme", 1.0),))
    inputs = privileged_observation(config, FIRST, more(), np.array([0.0, 2.0]))
    assert inputs.shape == (2, len(PRIVILEGED))
    usual = privileged_observation(EpisodeConfig(Path()), FIRST, RewardWeights(), np.array([0.0, 2.0]))
    changed = {PRIVILEGED[column] for column in np.flatnonzero((inputs != usual).any(axis=0))}
    assert {f"rivals_{bucket}" for bucket in buckets_of("a_new_scheme")} < changed
    assert {f"weights_{bucket}" for bucket in buckets_of("smoothness")} < changed


def test_a_step_is_visible_before_it_happens() -> None:
    path = Path(rate_mbps=20, rtt_ms=100, steps=(Step(10.0, rate_mbps=80),))
    inputs = privileged(EpisodeConfig(path), [0.0, 9.0, 20.0])
    now, soon, later = (inputs[f"share_{rtts}"] * 4 for rtts in AHEAD_RTTS)
    share = np.log2(1448 / 1514)
    assert now == pytest.approx([share, share, share + 2], abs=1e-3)
    assert soon[[0, 2]] == pytest.approx([share, share + 2], abs=1e-3)
    assert share < soon[1] < share + 0.1, "0.06 of 10 round trips"
    assert later[1] == pytest.approx(share + np.log2(0.2 + 0.8 * 4), abs=0.02), "four of the five seconds"


def test_share_counts_the_flows_of_that_time() -> None:
    inputs = privileged(
        EpisodeConfig(Path(rate_mbps=20, rtt_ms=100), (EpisodeFlow("cubic", 3.0), EpisodeFlow(LEARNER, 3.0))),
        [0.0, 2.8, 3.5],
    )
    assert inputs["share_1"] * 4 == pytest.approx(np.log2(1448 / 1514 / np.array([1, 1, 3])), abs=1e-3)
    assert inputs["share_10"][1] * 4 == pytest.approx(np.log2(1448 / 1514 / 3), abs=1e-3), "most of them come soon"


def test_own_rtt_includes_the_extra_rtt() -> None:
    config = EpisodeConfig(
        Path(rate_mbps=20, rtt_ms=40, client_extra_rtt_ms=(0.0, 120.0)), (EpisodeFlow(LEARNER, client=2),)
    )
    near, far = privileged(config, [0.0]), privileged(config, [0.0], config.other_flows[0])
    assert near["own_rtt"][0] == pytest.approx(0, abs=0.03)
    assert far["own_rtt"][0] == pytest.approx(2, abs=0.03)


@pytest.mark.parametrize("name", ["mixed", "wireless", "satellite", "datacenter"])
def test_all_numbers_are_scaled(name: str) -> None:
    profile = load_profile(name)
    sampler, rng = PathSampler(profile, snapshots=True), np.random.default_rng(0)
    for _ in range(200):
        config = sampler.draw(rng)
        for learner in config.learners:
            inputs = privileged_observation(config, learner, config.reward or profile.reward, np.linspace(0, 30, 50))
            assert np.isfinite(inputs).all()
            assert np.abs(inputs).max() <= 4
