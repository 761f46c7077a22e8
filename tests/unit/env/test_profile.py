"""Profiles: draws lie in the ranges, and errors name the bad value."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.errors import UserError
from env.network.path import Path
from env.network.scenario import load_scenario
from env.profile import (
    DRAWN_FIELDS,
    FOLDER,
    PATH_FEATURES,
    EpisodeConfig,
    PathSampler,
    load_profile,
    mean_positive_normal,
    profile_from_config,
    profile_names,
    scenario_episode_config,
)
from tests.support.training.profiles import sampler_of

PUBLISHED = ("stress", "fiber", "delay_extreme", "delay_moderate")


def draws(name: str, count: int, seed: int = 0) -> list[EpisodeConfig]:
    sampler, rng = sampler_of(name), np.random.default_rng(seed)
    return [sampler.draw(rng) for _ in range(count)]


def test_mixed_covers_its_ranges() -> None:
    configs = draws("mixed", 4000)
    published = Counter(config.path for config in configs if config.path.topology == "loopback")
    assert set(published) == {scenario_episode_config(name).path for name in PUBLISHED}
    assert 0.15 < sum(published.values()) / len(configs) < 0.25

    paths = [config.path for config in configs if config.path.topology == "router"]
    for field, low, high in (("rate_mbps", 1, 200), ("rtt_ms", 10, 300), ("buffer_bdp", 0.25, 8)):
        values = [getattr(path, field) for path in paths]
        assert low <= min(values) < 1.05 * low, field
        assert 0.95 * high < max(values) <= high, field
        below_the_middle = sum(math.sqrt(low * high) > value for value in values) / len(values)
        assert 0.3 < below_the_middle < 0.7, field  # log-uniform, some parts of it in a narrower range
    losses = [path.loss_pct for path in paths]
    assert min(losses) >= 0
    assert 1.9 < max(losses) <= 2
    assert 0.7 < sum(loss == 0 for loss in losses) / len(losses) < 0.9
    ratios = [path.jitter_ms / (path.rtt_ms / 2) for path in paths]
    assert max(ratios) > 1.5
    assert sum(ratio == 0 for ratio in ratios) > len(ratios) / 2
    steps = [step.rate_mbps / path.rate_mbps for path in paths for step in path.steps if step.rate_mbps]
    assert 0.1 <= min(steps) < 0.15
    assert 7 < max(steps) <= 10


def test_rate_steps_are_spread_over_the_episode() -> None:
    config = one(
        rate_mbps={"fixed": 5}, rtt_ms={"fixed": 100}, rate_step={"uniform": [0.5, 2]}, rate_steps={"choice": [1, 4]}
    )
    sampler, rng = PathSampler(profile_from_config(config | {"episode_decisions": 200})), np.random.default_rng(0)
    counts = Counter()
    for _ in range(200):
        steps = sampler.draw(rng).path.steps
        counts[len(steps)] += 1
        part_s = 20 / len(steps)
        for i, step in enumerate(steps):
            assert (i + 0.2) * part_s <= step.at_s <= (i + 0.8) * part_s
            assert step.rate_mbps
            assert 2.5 <= step.rate_mbps <= 10, "of the first rate, not of the one before"
        assert len({step.rate_mbps for step in steps}) == len(steps)
    assert set(counts) == {1, 4}


def test_component_weights_replace_the_profiles() -> None:
    configs = draws("mixed", 1000)
    path = scenario_episode_config("stress").path
    stress = [config for config in configs if config.path == path]
    assert {config.reward.delay for config in stress if config.reward} == {0.01}
    beside = [config for config in configs if config.rivals]
    assert {config.reward.fairness for config in beside if config.reward} == {1.0}
    assert all(config.reward for config in (*stress, *beside))
    assert not any(config.reward for config in configs if config.component == "clean")


def test_mixed_has_other_flows() -> None:
    configs = draws("mixed", 4000)
    learners = Counter(len(config.learners) for config in configs)
    assert set(learners) == {1, 2, 3, 4}
    assert 0.1 < 1 - learners[1] / len(configs) < 0.3
    rivals = Counter(rival.scheme for config in configs for rival in config.rivals)
    assert set(rivals) == {"cubic", "bbr", "reno", "ndm"}
    assert 0.2 < rivals.total() / len(configs) < 0.3
    longer = [config.path.client_extra_rtt_ms[1] / config.path.rtt_ms for config in configs if config.path.clients > 1]
    assert 0.5 <= min(longer) < 0.7
    assert 3 < max(longer) <= 4
    assert {other.client for config in configs for other in config.other_flows if config.path.clients > 1} == {2}


@pytest.mark.parametrize("name", ["mixed", "fair"])
def test_stand_in_replaces_a_missing_snapshot(name: str) -> None:
    """Else the model exported last stands in for it; nothing else is drawn otherwise."""
    profile = load_profile(name)
    one, other = (PathSampler(profile, snapshots) for snapshots in (True, False))
    rngs = [np.random.default_rng(2), np.random.default_rng(2)]
    pairs = [(one.draw(rngs[0]), other.draw(rngs[1])) for _ in range(500)]
    beside = [a for a, b in pairs if a != b]
    assert all(config.has_snapshot for config in beside)
    share = sum(config.has_snapshot for config, _ in pairs) / len(pairs)
    assert share == len(beside) / len(pairs)
    assert 0.01 < share < 0.1
    assert {tuple(config.modules) for config in beside} == {()}
    for with_snapshot, without in pairs:
        stood_in = [
            rival._replace(scheme="ndm" if rival.scheme == "snapshot" else rival.scheme)
            for rival in with_snapshot.other_flows
        ]
        assert without.other_flows == tuple(stood_in)


def test_other_flows_start_within_the_spread() -> None:
    config = one(learners={"fixed": 3}, rivals=["cubic"], rival_count={"fixed": 2}, start_spread_s=4.0)
    config = PathSampler(profile_from_config(config)).draw(np.random.default_rng(0))
    assert [other.scheme for other in config.other_flows] == ["learner", "learner", "cubic", "cubic"]
    assert all(0 < other.start_s < 4 for other in config.other_flows)
    assert config.features()[-1] == 1


def test_scenario_with_several_learners() -> None:
    config = scenario_episode_config("compete/same_4")
    assert len(config.learners) == 4
    assert not config.rivals
    assert [rival.scheme for rival in scenario_episode_config("compete/cubic_1v1").rivals] == ["cubic"]


def test_bottleneck_is_one_path() -> None:
    assert {config.path for config in draws("bottleneck", 20)} == {Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1)}


@pytest.mark.parametrize("name", profile_names())
def test_the_seed_decides(name: str) -> None:
    assert draws(name, 50, seed=3) == draws(name, 50, seed=3)


def test_another_seed_gives_other_paths() -> None:
    assert draws("mixed", 50, seed=3) != draws("mixed", 50, seed=4)


@pytest.mark.parametrize("name", profile_names())
def test_path_features_are_scaled(name: str) -> None:
    features = np.array([config.features() for config in draws(name, 500)])
    assert features.shape == (500, len(PATH_FEATURES))
    assert features.dtype == np.float32
    assert np.isfinite(features).all()
    assert np.abs(features).max() <= 2.5


@pytest.mark.parametrize("name", profile_names())
def test_first_comment_is_the_launch_command(name: str) -> None:
    first = (FOLDER / f"{name}.yaml").read_text().splitlines()[0]
    assert first.split()[:4] == ["#", "python", "train.py", f"profile={name}"]


@given(mean=st.floats(1, 200), deviation=st.floats(0.1, 400))
def test_mean_of_a_cut_normal(mean: float, deviation: float) -> None:
    positive = np.maximum(0, np.random.default_rng(0).normal(mean, deviation, 100_000))
    assert mean_positive_normal(mean, deviation) == pytest.approx(positive.mean(), abs=0.03 * deviation)


def test_jitter_raises_the_reference_rtt() -> None:
    profile = profile_from_config(
        {"name": "x", "paths": {"a": {"rtt_ms": {"fixed": 100}, "jitter_ratio": {"fixed": 2}}}}
    )
    path = PathSampler(profile).draw(np.random.default_rng(0)).path
    assert path.jitter_ms == 100
    assert path.reference_rtt_ms == pytest.approx(50 + 69.78, abs=0.1)  # the second: mean of max(0, N(50, 100))


def test_jitter_keeps_the_order_with_its_probability() -> None:
    mix = {"rtt_ms": {"fixed": 100}, "jitter_ratio": {"fixed": 0.1}, "jitter_in_order_prob": 0.5}
    sampler, rng = PathSampler(profile_from_config(one(**mix))), np.random.default_rng(0)
    paths = [sampler.draw(rng).path for _ in range(1000)]
    in_order = [path.reference_rtt_ms for path in paths if not path.jitter_reorders]
    assert 400 < len(in_order) < 600
    assert in_order == pytest.approx([105] * len(in_order), abs=0.1)


def test_bursts_of_acks_raise_the_reference_rtt() -> None:
    mix = {"rtt_ms": {"fixed": 40}, "ack_burst_ms": {"log_uniform": [10, 20]}}
    path = PathSampler(profile_from_config(one(**mix))).draw(np.random.default_rng(0)).path
    assert 10 <= path.ack_burst_ms <= 20
    assert path.reference_rtt_ms == 40 + path.ack_burst_ms / 2


def test_rivals_appear_with_rival_chance() -> None:
    config = {"name": "x", "paths": {"a": {"rivals": ["cubic", "bbr"], "rival_chance": 0.5}}}
    sampler, rng = PathSampler(profile_from_config(config)), np.random.default_rng(0)
    counts = Counter(tuple(rival.scheme for rival in sampler.draw(rng).rivals) for _ in range(1000))
    assert set(counts) == {(), ("cubic",), ("bbr",)}
    assert 400 < counts[()] < 600


def one(**mix: object) -> dict[str, object]:
    return {"name": "x", "paths": {"a": mix}}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"nam": "x"}, ["nam", "name, paths, reward"]),
        ({"name": "x"}, ["paths"]),
        (one(rtt={"fixed": 1}), ["paths.a.rtt", *DRAWN_FIELDS, "jitter_ratio"]),
        (one(rtt_ms={"log": [1, 2]}), ["paths.a.rtt_ms.log", "fixed, choice, uniform, log_uniform"]),
        (one(rtt_ms={"fixed": "far"}), ["paths.a.rtt_ms.fixed", "far"]),
        (one(rtt_ms={"uniform": [3, 1]}), ["rtt_ms.uniform", "[3.0, 1.0]", "[low, high]"]),
        (one(rtt_ms={"uniform": [1, 3], "fixed": 2}), ["fixed and uniform", "one of"]),
        (one(rtt_ms={"log_uniform": [0, 3]}), ["log_uniform", "above 0"]),
        (one(rtt_ms={"choice": []}), ["rtt_ms.choice", "empty"]),
        (one(rtt_ms={"fixed": -1}), ["rtt_ms is -1", "between 0 and"]),
        (one(rate_mbps={"uniform": [0, 3]}), ["rate_mbps is 0", "between 0.01 and"]),
        (one(weight=-1), ["weight is -1", "negative"]),
        (one(learners={"fixed": 0}), ["learners goes from 0 to 0", "between 1 and 32"]),
        (one(rival_count={"choice": [1, 40]}), ["rival_count goes from 1 to 40"]),
        (one(rivals=["cubik"]), ["cubik", "did you mean cubic"]),
        (one(start_spread_s=-1), ["start_spread_s is -1"]),
        (one(extra_rtt_ratio={"uniform": [-1, 1]}), ["extra_rtt_ratio is -1"]),
        (one(rate_step={"fixed": 0}), ["rate_mbps of the step", "is 0"]),
        (one(rate_step={"fixed": 2}, rate_steps={"fixed": 40}), ["rate_steps goes from 40 to 40", "between 1 and 32"]),
        (one(rate_steps={"fixed": 2}), ["rate_steps is given without rate_step"]),
        (one(traces=["held_out/lte-driving"]), ["held out"]),
        (one(traces=["recorded/starlink"]), ["held out"]),
        (one(traces=["train/lte"]), ["train/lte", "unknown"]),
        (one(traces=["train/wifi"], rate_mbps={"fixed": 10}), ["leave one of them out"]),
        (one(reward={"delay": -1}), ["reward.delay is -1"]),
        (one(scenario="stress", traces=["train/wifi"]), ["sets traces itself"]),
        (one(scenario="compete/requests"), ["not bulk"]),
        (one(weight=0), ["no path has a weight"]),
        (one(qdisc="red2"), ["red2", "fq_codel"]),
        (one(scenario="strss"), ["strss", "did you mean stress"]),
        (one(scenario="stress", rtt_ms={"fixed": 1}), ["stress", "rtt_ms"]),
        (one(jitter_in_order_prob=-1), ["jitter_in_order_prob is -1", "at least 0 and at most 1"]),
        (one(rivals=["cubic"], rival_chance=2), ["rival_chance is 2", "at least 0 and at most 1"]),
        (one() | {"reward": {"goodput": -1}}, ["reward.goodput is -1", "negative"]),
        (one() | {"reward": {"speed": 1}}, ["reward.speed", "goodput, delay, loss"]),
        (one() | {"episode_decisions": 0}, ["episode_decisions is 0", "at least 1"]),
        (one() | {"episode_packets": 0}, ["episode_packets is 0", "above 0"]),
        (one() | {"skip_slow_start_prob": 2}, ["skip_slow_start_prob is 2", "at least 0 and at most 1"]),
    ],
)
def test_errors_name_bad_and_valid_values(config: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        profile_from_config(config)
    for word in words:
        assert word in str(error.value)


def test_large_bdp_shortens_episodes() -> None:
    short, long, longest = (Path(rate_mbps=rate, rtt_ms=100) for rate in (10, 20, 200))  # 83, 165 and 1651 packets
    profile = profile_from_config(one() | {"episode_decisions": 200, "episode_packets": 20_000})
    assert [profile.decisions_on(path) for path in (short, long, longest)] == [200, 121, 64]
    assert profile.decisions_on(load_scenario("fiber").network_path()) == 200, "of its packets of 64 KB there are 45"
    assert profile_from_config(one() | {"episode_decisions": 200}).decisions_on(longest) == 200
    assert profile.decisions_on(Path(rate_mbps=10, rtt_ms=0)) == 200
    few = profile_from_config(one() | {"episode_decisions": 20, "episode_packets": 20_000})
    assert [few.decisions_on(path) for path in (short, longest)] == [20, 20]


def test_unknown_profile_lists_the_known() -> None:
    with pytest.raises(UserError, match=r"did you mean mixed.*bottleneck, .*mixed"):
        load_profile("mixd")
