"""Trajectories of a record: shares, delays and rewards while flows start and rates change, against hand counts."""

from __future__ import annotations

import numpy as np
import pytest

from env import schema
from env.network.path import Path
from env.network.step import Step
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow
from env.reference import GRID_US
from env.reward import RewardWeights
from env.spaces import INFO
from env.trajectory import Steps, trajectories

MSS = 1448
WEIGHTS = RewardWeights()


def record(flow: int, begin_s: float, seconds: int, packets_per_s: int, srtt_us: int = 50_000, place: int = 0) -> Steps:
    """A flow that delivers evenly, one decision each second. place: among the run's flows."""
    steps = np.zeros(seconds + 1, schema.STEP_DTYPE)
    at = np.arange(seconds + 1)
    steps["flow"], steps["decision"], steps["mss"], steps["srtt_us"] = flow, at, MSS, srtt_us
    steps["now_us"] = 3 * GRID_US + ((begin_s + at) * 1e6).astype(np.int64)
    steps["delivered"] = at * packets_per_s
    steps["cwnd"], steps["port"] = 10 + at, schema.FIRST_SOURCE_PORT + place
    steps["actions"] = 1 << 13
    steps["features"] = at[:, None]
    return steps


def together(*records: Steps) -> Steps:
    both = np.concatenate(records)
    return both[np.argsort(both["now_us"], kind="stable")]


def per_second(mbps: float) -> int:
    return round(mbps * 1e6 / 8 / MSS)


def test_shapes_scales_and_order() -> None:
    (one,) = trajectories(record(5, 0.1, 4, per_second(9)), EpisodeConfig(Path()), WEIGHTS)
    assert one.observations.shape == (5, len(schema.FEATURES))
    assert one.observations[3, 0] == np.float32(3 / 4096)
    assert one.actions.shape == (4, 2)
    assert (one.actions == 0.5).all()
    assert one.rewards.shape == (4,)
    assert set(one.infos) == set(INFO)
    assert one.infos["cwnd"].tolist() == [11, 12, 13, 14]
    assert one.infos["goodput_mbps"] == pytest.approx(9, rel=1e-3)
    assert one.infos["rtt_ms"].tolist() == [50] * 4
    parts = [one.infos[f"reward/{part}"] for part in ("goodput", "delay", "loss", "fairness")]
    assert one.rewards == pytest.approx(np.sum(parts, axis=0))


def test_share_shrinks_when_another_flow_begins() -> None:
    config = EpisodeConfig(Path(rate_mbps=20), (EpisodeFlow(LEARNER, start_s=4.0), EpisodeFlow("cubic", start_s=8.0)))
    first, second = trajectories(
        together(record(7, 0.1, 11, per_second(9)), record(8, 4.1, 7, per_second(9), place=1)), config, WEIGHTS
    )
    share = 9 / (20 * 1448 / 1514)
    assert first.infos["goodput_share"][:3] == pytest.approx(share, rel=1e-3)
    assert first.infos["goodput_share"][4:7] == pytest.approx(2 * share, rel=1e-3)
    assert first.infos["goodput_share"][8:] == pytest.approx(3 * share, rel=1e-3)
    assert second.infos["goodput_share"][:3] == pytest.approx(2 * share, rel=1e-3)
    assert first.infos["reward/fairness"][:7] == pytest.approx(0)
    assert first.infos["reward/fairness"][8:] == pytest.approx(-WEIGHTS.fairness * np.log2(3 * share), rel=1e-2)


def test_a_step_changes_the_share() -> None:
    config = EpisodeConfig(Path(rate_mbps=20, steps=(Step(3.1, rate_mbps=10),)))
    (one,) = trajectories(record(1, 0.1, 6, per_second(9)), config, WEIGHTS)
    share = 9 / (20 * 1448 / 1514)
    assert one.infos["goodput_share"] == pytest.approx([share] * 3 + [2 * share] * 3, rel=1e-3)


def test_extra_rtt_is_no_queueing_delay() -> None:
    path = Path(rate_mbps=20, rtt_ms=40, client_extra_rtt_ms=(0.0, 60.0))
    config = EpisodeConfig(path, (EpisodeFlow(LEARNER, client=2),))
    near, far = trajectories(
        together(record(1, 0.1, 3, 500, srtt_us=110_000), record(2, 0.2, 3, 500, srtt_us=110_000, place=1)),
        config,
        WEIGHTS,
    )
    assert near.infos["queueing_delay_ms"] == pytest.approx(70 - 2 * 1514 * 8 / 20e3, abs=0.01)
    assert far.infos["queueing_delay_ms"] == pytest.approx(10 - 2 * 1514 * 8 / 20e3, abs=0.01)


def test_episode_weights_replace_the_given_ones() -> None:
    steps = record(1, 0.1, 3, 500, srtt_us=90_000)
    (usual,) = trajectories(steps, EpisodeConfig(Path()), WEIGHTS)
    (patient,) = trajectories(steps, EpisodeConfig(Path(), reward=RewardWeights(delay=0.0)), WEIGHTS)
    assert (usual.infos["reward/delay"] < 0).all()
    assert (patient.infos["reward/delay"] == 0).all()


def test_single_decision_gives_no_trajectory() -> None:
    assert trajectories(record(1, 0.1, 0, 500), EpisodeConfig(Path()), WEIGHTS) == []
    assert trajectories(record(1, 0.1, 0, 500)[:0], EpisodeConfig(Path()), WEIGHTS) == []


def test_a_flow_is_known_by_its_place_not_by_when_it_opens() -> None:
    path = Path(rate_mbps=20, rtt_ms=40, client_extra_rtt_ms=(0.0, 60.0))
    config = EpisodeConfig(path, (EpisodeFlow(LEARNER, client=2),))
    far, near = trajectories(
        together(record(1, 0.1, 3, 500, 110_000, place=1), record(2, 0.2, 3, 500, 110_000, place=0)), config, WEIGHTS
    )
    assert near.infos["queueing_delay_ms"][0] - far.infos["queueing_delay_ms"][0] == pytest.approx(60)
