"""What a critic may know, against what is easily counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from env.network.path import Path
from env.network.step import Step
from env.privileged import AHEAD_RTTS, PRIVILEGED, privileged_observation
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow, PathSampler, load_profile
from env.reward import RewardWeights

WEIGHTS = RewardWeights(goodput=2.0, delay=0.1, loss=3.0, fairness=0.5)
FIRST = EpisodeFlow(LEARNER)


def told(episode_config: EpisodeConfig, t_s: list[float], learner: EpisodeFlow = FIRST) -> dict[str, np.ndarray]:
    known = privileged_observation(episode_config, learner, WEIGHTS, np.array(t_s))
    assert known.dtype == np.float32
    assert known.shape == (len(t_s), len(PRIVILEGED))
    return dict(zip(PRIVILEGED, known.T, strict=True))


def test_the_path_and_the_weights_stay() -> None:
    episode_config = EpisodeConfig(Path(rate_mbps=10, rtt_ms=100, loss_pct=1))
    known = told(episode_config, [0.0, 3.0])
    for name, value in zip(PRIVILEGED, episode_config.features(), strict=False):
        assert known[name].tolist() == [value, value]
    assert [known[f"weight_{name}"][1] for name in ("goodput", "delay", "loss", "fairness")] == pytest.approx(
        [2.0, 0.1, 3.0, 0.5]
    )


def test_flows_count_from_their_begin_each_by_its_scheme() -> None:
    others = (EpisodeFlow(LEARNER, 2.0), EpisodeFlow("cubic", 1.0), EpisodeFlow("cubic", 4.0), EpisodeFlow("bbr", 3.0))
    known = told(EpisodeConfig(Path(), others), [0.0, 1.0, 2.5, 5.0])
    assert known["learners"].tolist() == [0.25, 0.25, 0.5, 0.5]
    assert known["rivals_cubic"].tolist() == [0, 1, 1, 2]
    assert known["rivals_bbr"].tolist() == [0, 0, 0, 1]
    assert not known["rivals_reno"].any()


def test_a_step_is_told_before_it_comes() -> None:
    path = Path(rate_mbps=20, rtt_ms=100, steps=(Step(10.0, rate_mbps=80),))
    known = told(EpisodeConfig(path), [0.0, 9.0, 20.0])
    now, soon, later = (known[f"share_{rtts}"] * 4 for rtts in AHEAD_RTTS)
    share = np.log2(1448 / 1514)
    assert now == pytest.approx([share, share, share + 2], abs=1e-3)
    assert soon[[0, 2]] == pytest.approx([share, share + 2], abs=1e-3)
    assert share < soon[1] < share + 0.1, "0.06 of 10 round trips"
    assert later[1] == pytest.approx(share + np.log2(0.2 + 0.8 * 4), abs=0.02), "four of the five seconds"


def test_the_share_is_that_of_all_who_are_there_then() -> None:
    known = told(
        EpisodeConfig(Path(rate_mbps=20, rtt_ms=100), (EpisodeFlow("cubic", 3.0), EpisodeFlow(LEARNER, 3.0))),
        [0.0, 2.8, 3.5],
    )
    assert known["share_1"] * 4 == pytest.approx(np.log2(1448 / 1514 / np.array([1, 1, 3])), abs=1e-3)
    assert known["share_10"][1] * 4 == pytest.approx(np.log2(1448 / 1514 / 3), abs=1e-3), "most of them come soon"


def test_the_longer_way_is_ones_own() -> None:
    episode_config = EpisodeConfig(
        Path(rate_mbps=20, rtt_ms=40, client_extra_rtt_ms=(0.0, 120.0)), (EpisodeFlow(LEARNER, client=2),)
    )
    near, far = told(episode_config, [0.0]), told(episode_config, [0.0], episode_config.other_flows[0])
    assert near["own_rtt"][0] == pytest.approx(0, abs=0.03)
    assert far["own_rtt"][0] == pytest.approx(2, abs=0.03)


@pytest.mark.parametrize("name", ["mixed", "wireless", "satellite", "datacenter"])
def test_all_numbers_are_of_a_size_that_a_network_can_read(name: str) -> None:
    profile = load_profile(name)
    sampler, rng = PathSampler(profile, snapshots=True), np.random.default_rng(0)
    for _ in range(200):
        episode_config = sampler.draw(rng)
        for learner in episode_config.learners:
            known = privileged_observation(
                episode_config, learner, episode_config.reward or profile.reward, np.linspace(0, 30, 50)
            )
            assert np.isfinite(known).all()
            assert np.abs(known).max() <= 4
