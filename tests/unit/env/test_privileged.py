"""The privileged observation against hand counts."""

from __future__ import annotations

import numpy as np
import pytest

from env.network.path import Path
from env.network.step import Step
from env.privileged import (
    AHEAD_RTTS,
    PRIVILEGED,
    RIVAL_COLUMNS,
    RIVALS,
    TERM_COLUMNS,
    TERMS_OF_REWARD,
    columns_of,
    privileged_observation,
)
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
    expected = [2.0, 0.1, 3.0, 0.5, *[0.0] * (TERM_COLUMNS - 4)]
    assert [inputs[f"weights_{column}"][1] for column in range(TERM_COLUMNS)] == pytest.approx(expected)


def test_flows_count_by_scheme_once_they_begin() -> None:
    schemes = {LEARNER: 2.0, "cubic": 1.0, "bbr": 3.0, "mine@tcp_mine.c": 2.0, "yours@yours": 3.0}
    others = (*(EpisodeFlow(*other) for other in schemes.items()), EpisodeFlow("cubic", 4.0))
    inputs = privileged(EpisodeConfig(Path(), others), [0.0, 1.0, 2.5, 5.0])
    assert inputs["learners"].tolist() == [0.25, 0.25, 0.5, 0.5]
    begun = {"cubic": [0.0, 1.0, 1.0, 2.0], "bbr": [0.0, 0.0, 0.0, 1.0], "own": [0.0, 0.0, 1.0, 2.0]}
    expected = {RIVALS[name]: numbers for name, numbers in begun.items()}
    for column in range(RIVAL_COLUMNS):
        assert inputs[f"rivals_{column}"].tolist() == expected.get(column, [0.0] * 4)


def test_names_keep_their_columns() -> None:
    """A critic that was trained before reads them: a new scheme or term comes at the end of its table."""
    schemes = ["own", "snapshot", "ndm", "reno", "cubic", "bbr", "nv", "cdg", "vegas", "westwood", "illinois", "ndm_v1"]
    schemes += ["dctcp", "oracle"]
    terms = ["goodput", "delay", "loss", "fairness"]
    assert list(RIVALS)[: len(schemes)] == schemes
    assert list(TERMS_OF_REWARD)[: len(terms)] == terms
    assert len(PRIVILEGED) == 45


def test_full_table_is_an_error() -> None:
    assert columns_of(["a", "b"], 2) == {"a": 0, "b": 1}
    with pytest.raises(ValueError, match=r"has 2 columns for a, b, c: .*runs from before cannot go on"):
        columns_of(["a", "b", "c"], 2)


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
