"""Narrower ranges: an easy middle that grows to the whole profile, and the neighbourhood of an episode."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.network.path import Path
from env.profile import (
    DRAWN_FIELDS,
    LEARNER,
    SNAPSHOT,
    Draw,
    EpisodeConfig,
    EpisodeFlow,
    MixtureComponent,
    profile_names,
)
from env.profile.held_out import BANDED, in_band
from env.profile.ranges import LEAST_IS_EASY, around, middle
from tests.support.training.profiles import sampler_of

WIDE = MixtureComponent(
    rate_mbps=Draw(log_uniform=[1, 100]),
    rtt_ms=Draw(uniform=[20, 40]),
    loss_pct=Draw(uniform=[0, 2]),
    jitter_ratio=Draw(log_uniform=[0.05, 2]),
    buffer_bdp=Draw(choice=[0.5, 4]),
    rate_step=Draw(log_uniform=[0.2, 5]),
)


def numbers(config: EpisodeConfig) -> dict[str, float]:
    path = config.path
    values = {name: float(getattr(path, name)) for name in DRAWN_FIELDS}
    values["jitter_ratio"] = path.jitter_ms / (path.rtt_ms / 2)
    if path.clients > 1:
        values["extra_rtt_ratio"] = path.client_extra_rtt_ms[1] / path.rtt_ms
    if path.steps:
        values["rate_steps"] = float(len(path.steps))
    if len(path.steps) == 1:  # of several, only the range is kept
        rate_mbps = path.steps[0].rate_mbps
        assert rate_mbps is not None
        values["rate_step"] = rate_mbps / path.rate_mbps
    return values


def test_the_middle_grows_to_the_whole() -> None:
    half = middle(WIDE, 0.5)
    assert half.rate_mbps.log_uniform == pytest.approx([math.sqrt(10), 10 * math.sqrt(10)])
    assert half.rtt_ms.uniform == [25, 35]
    assert half.rate_step.log_uniform == pytest.approx([1 / math.sqrt(5), math.sqrt(5)]), "around no change"
    assert half.buffer_bdp == WIDE.buffer_bdp, "what is chosen is chosen"
    assert middle(WIDE, 1.0) == WIDE


def test_smallest_impairment_is_easy() -> None:
    tenth = middle(WIDE, 0.1)
    assert tenth.loss_pct.uniform == [0, 0.2]
    assert tenth.jitter_ratio.log_uniform == pytest.approx([0.05, 0.05 * 40**0.1])
    assert set(LEAST_IS_EASY) <= set(vars(WIDE))


def test_a_middle_that_is_held_out_stays_whole() -> None:
    mix = MixtureComponent(rate_mbps=Draw(log_uniform=[100, 140]))  # 118, held out as is all from 110 to 145
    assert middle(mix, 0.1) == mix
    assert middle(mix, 0.9) != mix


@pytest.mark.parametrize("name", profile_names())
@pytest.mark.parametrize("width", [0.05, 0.3, 0.8])
def test_narrow_draws_lie_within_the_profile(name: str, width: float) -> None:
    sampler, rng = sampler_of(name), np.random.default_rng(0)
    for _ in range(200):
        config = sampler.draw(rng, width)
        if config.path.topology == "router":
            assert_within(config, sampler.profile.paths[config.component])


def assert_within(config: EpisodeConfig, mix: MixtureComponent) -> None:
    for name, value in numbers(config).items():
        bounds = getattr(mix, name).bounds()
        if bounds:
            assert bounds[0] * (1 - 1e-9) <= value <= bounds[1] * (1 + 1e-9), name
            assert name not in BANDED or not in_band(name, value), name


def test_a_width_of_one_is_the_profile() -> None:
    sampler = sampler_of("mixed")
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert [sampler.draw(one) for _ in range(50)] == [sampler.draw(other, 1.0) for _ in range(50)]


@pytest.mark.parametrize("name", profile_names())
def test_draw_near_stays_within_the_factor(name: str) -> None:
    """Of the same part and company, each number within the factor and the profile's range, none held out."""
    sampler, rng = sampler_of(name, snapshots=True), np.random.default_rng(0)
    differing = 0
    for _ in range(100):
        config = sampler.draw(rng)
        near = sampler.draw_near(config, 1.3, rng)
        assert near.component == config.component
        assert near.reward == config.reward
        assert [other.scheme for other in near.other_flows] == [other.scheme for other in config.other_flows]
        if near.path.topology == "loopback":
            assert near == config
            continue
        assert near.path.trace == config.path.trace
        assert_within(near, sampler.profile.paths[config.component])
        differing += near != config
        neighbour = numbers(near)
        for what, value in numbers(config).items():
            assert value / 1.3 * (1 - 1e-9) <= neighbour[what] <= value * 1.3 * (1 + 1e-9), what
    assert name == "bottleneck" or differing > 30


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), factor=st.floats(1.01, 3))
def test_draw_near_can_be_repeated(seed: int, factor: float) -> None:
    """The held-out bands lie in between, and no range may end up within one."""
    sampler, rng = sampler_of("mixed"), np.random.default_rng(seed)
    config = sampler.draw(rng)
    for _ in range(5):
        config = sampler.draw_near(config, factor, rng)
        if config.path.topology == "router":
            assert_within(config, sampler.profile.paths[config.component])


def test_no_loss_stays_no_loss() -> None:
    config = EpisodeConfig(Path(rate_mbps=10, rtt_ms=30), (EpisodeFlow(LEARNER), EpisodeFlow(SNAPSHOT)), component="x")
    mix = around(WIDE, config, 1.5)
    assert mix.loss_pct.fixed == 0
    assert mix.learners == Draw(), "how many there are follows from the part, where it does not draw them"
    assert mix.rivals == [SNAPSHOT]
