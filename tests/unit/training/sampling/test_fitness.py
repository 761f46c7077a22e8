"""The fitness of hand-made run results."""

from __future__ import annotations

import numpy as np
import pytest

from env.lab import FlowResult, Table
from env.network.path import Path
from env.network.step import Step
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow
from env.reference import FlowReference
from env.reward import Measured, RewardWeights, compute_reward
from training.sampling.fitness import flow_reward, run_fitness, scores

WEIGHTS = RewardWeights()
MSS = 1448
ALONE = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40, loss_pct=1))
SAMPLE_S = 0.1


def flow(
    rates: list[float], srtt_us: float | list[float] = 45_000, lost: float = 0.0, start_s: float = 0.0
) -> FlowResult:
    """A flow that delivers so many packets a second in each of its seconds, `lost` of those sent besides."""
    t_s = np.arange(1, len(rates) * 10 + 1) * SAMPLE_S
    delivered = np.cumsum(np.repeat(rates, 10) * SAMPLE_S)
    retransmits = delivered * lost / (1 - lost)
    rtts = np.broadcast_to(srtt_us, t_s.shape) if np.ndim(srtt_us) == 0 else np.repeat(srtt_us, 10)
    sender = np.stack([start_s + t_s, rtts, retransmits, delivered + retransmits], 1)
    return FlowResult(
        scheme="ndm",
        start_s=start_s,
        duration_s=float(len(rates)),
        received_bytes=round(delivered[-1] * MSS) if rates else 0,
        sender=Table(("t_s", "srtt_us", "retransmits", "segments_sent"), sender),
        receiver=Table(("t_s", "bytes"), np.stack([start_s + t_s, delivered * MSS], 1)),
    )


@pytest.mark.parametrize(("rate", "srtt_us", "lost"), [(1500, 45_000, 0.0), (150, 41_300, 0.1), (1600, 90_000, 0.01)])
def test_steady_flow_has_the_reward_of_its_intervals(rate: float, srtt_us: float, lost: float) -> None:
    second = Measured(1e6, rate * MSS, rate, rate * lost / (1 - lost), srtt_us)
    expected = compute_reward(second, FlowReference(ALONE, EpisodeFlow(LEARNER)).over(np.array([0.0, 1.0])), WEIGHTS)
    outcome = flow_reward(flow([rate] * 4, srtt_us, lost), ALONE, EpisodeFlow(LEARNER), 4.0, WEIGHTS)
    for name, values in outcome.numbers().items():
        assert values == pytest.approx([*np.ravel(expected.numbers()[name])] * 4, rel=1e-6), name
    assert run_fitness([outcome], 0, 1.0) == pytest.approx(np.mean(expected.reward))


def test_slow_start_costs_reward() -> None:
    late = flow_reward(flow([16, 160, 1600, 1600]), ALONE, EpisodeFlow(LEARNER), 4.0, WEIGHTS)
    steady = flow_reward(flow([844.0] * 4), ALONE, EpisodeFlow(LEARNER), 4.0, WEIGHTS)
    assert np.mean(late.performance.goodput_mbps) == pytest.approx(np.mean(steady.performance.goodput_mbps))
    assert run_fitness([late], 0, 1.0) < run_fitness([steady], 0, 1.0)


def test_delay_counts_window_by_window() -> None:
    """A queue that comes and goes costs less than its mean: the cost is concave. Without a sample it stays."""
    swinging = flow_reward(flow([1500] * 2, [41_000, 121_000]), ALONE, EpisodeFlow(LEARNER), 2.0, WEIGHTS)
    steady = flow_reward(flow([1500] * 2, 81_000), ALONE, EpisodeFlow(LEARNER), 2.0, WEIGHTS)
    assert np.mean(steady.terms["delay"]) < np.mean(swinging.terms["delay"]) < 0
    silent = flow_reward(flow([1500] * 3, [0, 60_000, 0]), ALONE, EpisodeFlow(LEARNER), 3.0, WEIGHTS)
    assert silent.terms["delay"][0] == 0  # type: ignore[index]
    assert silent.performance.rtt_ms[2] == pytest.approx(60)  # type: ignore[index]


def test_nothing_is_delivered_after_an_early_end() -> None:
    whole = flow_reward(flow([1500] * 4), ALONE, EpisodeFlow(LEARNER), 4.0, WEIGHTS)
    cut = flow_reward(flow([1500] * 2), ALONE, EpisodeFlow(LEARNER), 4.0, WEIGHTS)
    assert np.asarray(cut.terms["goodput"]).tolist() == pytest.approx([*np.asarray(whole.terms["goodput"])[:2], 0, 0])
    assert run_fitness([whole], 1, 1.0) < run_fitness([cut], 0, 1.0) < run_fitness([whole], 0, 1.0)


def test_each_learner_has_its_share_while_it_runs() -> None:
    """Two flows on one link, the second one two seconds later: the first should make room then."""
    config = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow(LEARNER, 2.0),))
    first, second = config.learners
    full = 20e6 / 8 / 1514
    makes_room = flow_reward(flow([full, full, full / 2, full / 2]), config, first, 4.0, WEIGHTS)
    keeps_all = flow_reward(flow([full] * 4), config, first, 4.0, WEIGHTS)
    gets_half = flow_reward(flow([full / 2] * 2, start_s=2.0), config, second, 4.0, WEIGHTS)
    gets_none = flow_reward(flow([full / 100] * 2, start_s=2.0), config, second, 4.0, WEIGHTS)
    assert np.asarray(makes_room.performance.goodput_share).tolist() == pytest.approx([1.0] * 4, rel=0.06)
    assert np.asarray(gets_half.performance.goodput_share).tolist() == pytest.approx([1.0] * 2, rel=0.01)
    assert np.asarray(keeps_all.terms["fairness"])[2:].max() < -0.2
    assert np.asarray(makes_room.terms["fairness"]).min() > -0.01
    assert run_fitness([makes_room, gets_half], 0, 1.0) > run_fitness([keeps_all, gets_none], 0, 1.0)


def test_share_follows_a_changing_link() -> None:
    config = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40, steps=(Step(at_s=2.0, rate_mbps=5.0),)))
    outcome = flow_reward(flow([1651, 1651, 413, 413]), config, EpisodeFlow(LEARNER), 4.0, WEIGHTS)
    assert np.asarray(outcome.performance.goodput_share).tolist() == pytest.approx([1.0] * 4, rel=0.01)


def test_episode_weights_replace_the_profiles() -> None:
    config = ALONE._replace(reward=RewardWeights(goodput=0, delay=0, loss=0, fairness=0))
    assert run_fitness([flow_reward(flow([1500] * 2), config, EpisodeFlow(LEARNER), 2.0, WEIGHTS)], 0, 1.0) == 0


def test_guarded_flow_costs_its_share() -> None:
    good, bad = (flow_reward(flow([rate] * 2), ALONE, EpisodeFlow(LEARNER), 2.0, WEIGHTS) for rate in (1600, 16))
    both = (float(np.mean(good.reward)) + float(np.mean(bad.reward))) / 2
    assert run_fitness([good, bad], 0, 1.0) == pytest.approx(both)
    assert run_fitness([good, bad], 1, 1.0) == pytest.approx(both - 0.5)
    assert run_fitness([bad], 0, 1.0) > run_fitness([good], 1, 1.0), "to lose the connection to Reno must not pay"


def test_a_flow_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="sample_ms"):
        flow_reward(flow([]), ALONE, EpisodeFlow(LEARNER), 2.0, WEIGHTS)


def test_every_path_has_the_same_weight() -> None:
    """Candidate 0 is much worse on one path and a little better on two: by sums it would lose."""
    fitness = np.array([[-50.0, 0.9, 0.8], [0.5, 0.89, 0.79], [0.4, 0.88, 0.78]])
    assert scores(fitness).tolist() == pytest.approx([1 / 6, 1 / 6, -1 / 3])
    assert scores(fitness * [[0.001, 1, 1000]] + [[5, -5, 0]]).tolist() == scores(fitness).tolist()


def test_ties_share_ranks_and_one_candidate_has_zero() -> None:
    assert scores(np.array([[1.0], [1.0], [0.0]])).tolist() == pytest.approx([0.25, 0.25, -0.5])
    assert scores(np.array([[3.0, 4.0]])).tolist() == [0.0]
