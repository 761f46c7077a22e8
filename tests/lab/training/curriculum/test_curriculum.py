"""The curriculum's contests between the policy and the kernel's algorithms, in the lab."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from env.expert import Expert
from env.pool import LabPool
from env.profile import Profile, profile_from_config
from env.reward import RewardWeights
from env.rollout import RolloutJob, RolloutTask
from export.formats.model_file import model_file
from tests.support.labs import lab_pool
from training.curriculum.curriculum import METRICS, Curriculum, CurriculumOptions, mean_reward
from training.policy import initial_policy


def never() -> bool:
    return False


PROFILE = profile_from_config(
    {
        "name": "x",
        "episode_decisions": 40,
        "episode_s": 10.0,
        "paths": {
            "wide": {"rate_mbps": {"log_uniform": [5, 40]}, "rtt_ms": {"log_uniform": [20, 60]}},
            "beside": {"rate_mbps": {"fixed": 20}, "rivals": ["snapshot"], "start_spread_s": 0.5},
        },
    }
)
OPTIONS = CurriculumOptions(hard_share=0.5, schemes=["bbr", "cubic"], every=2, cost=1.0, most_hard=3)
DECISIONS = 360  # of a batch: a contest has six episodes of the policy and as many of each scheme


@pytest.fixture(scope="module")
def labs() -> Iterator[LabPool]:
    with lab_pool() as pool:
        yield pool


def curriculum(labs: LabPool, profile: Profile = PROFILE) -> Curriculum:
    return Curriculum(OPTIONS, profile, 5, DECISIONS, labs)


def test_contest_finds_where_an_algorithm_is_better(labs: LabPool) -> None:
    """An untrained policy holds ten packets, so that every algorithm is better; the rewards must be reproducible."""
    learner, policy = curriculum(labs), initial_policy(8, 1).state_dict()
    old, _ = model_file(initial_policy(8, 2).state_dict(), "old", "x")
    assert learner.observe(1, policy, (old,), never) == {"curriculum/hard": 0, "curriculum/share": 0}
    learner.observe(2, policy, (old,), never)
    assert learner.hard == (), "it counts from the update after"
    metrics = learner.observe(3, policy, (old,), never)
    assert metrics is not None
    assert 0 < metrics["curriculum/share"] <= 1
    assert len(learner.hard) == 3
    assert learner.promoted == learner.hard
    gaps = [chosen.gap for chosen in learner.hard]
    assert gaps == sorted(gaps, reverse=True)
    assert metrics["curriculum/gap_worst"] == gaps[0] > 0.1
    assert metrics["curriculum/gap_median"] <= gaps[0]
    won = {name: metrics[f"curriculum/won_{name}"] for name in ("policy", "bbr", "cubic")}
    assert sum(won.values()) == pytest.approx(1)
    table = [metric for metric in METRICS if metric.name != "curriculum/width"]
    assert [name for name in metrics if not any(metric.covers(name) for metric in table)] == []
    assert [metric.name for metric in table if not any(metric.covers(name) for name in metrics)] == []

    model, _ = model_file(policy, "again", "x")
    for chosen in learner.hard:
        silence = np.zeros((0, 0, 2), np.int16)
        task = RolloutTask(model, chosen.episode_config, chosen.seed, silence, 40, 10.0, None, chosen.snapshot)
        tasks = [task, *(task._replace(expert=Expert(name, name)) for name in ("bbr", "cubic"))]
        futures = labs.submit([RolloutJob(task, RewardWeights()) for task in tasks])
        ours, bbr, cubic = (mean_reward(future.result()) for future in futures)
        assert chosen.policy_reward == ours
        assert chosen.scheme_reward == max(bbr, cubic)
        assert chosen.scheme == ("bbr" if bbr >= cubic else "cubic")
        assert bool(chosen.snapshot) == chosen.episode_config.has_snapshot
    assert learner.observe(3, policy, (old,), never) == {
        "curriculum/hard": 3,
        "curriculum/share": pytest.approx(metrics["curriculum/share"], rel=0.9),
    }
    assert learner.promoted == ()
    sampling_state = learner.sampling_state(0.0, (old,))
    assert sampling_state.hard == tuple(chosen.episode_config for chosen in learner.hard)
    assert sampling_state.hard_share == 0.5


def test_episode_config_is_dropped_when_policy_catches_up(labs: LabPool) -> None:
    """The policy runs all hard episode configs again; the algorithms' rewards stay."""
    learner, policy = curriculum(labs), initial_policy(8, 1).state_dict()
    learner.observe(2, policy, (), never)
    learner.observe(3, policy, (), never)
    first = learner.hard
    assert first
    beaten, nearly, far = (
        replace(first[0], scheme_reward=theirs) for theirs in (-1.0, first[0].policy_reward + 0.01, 9.0)
    )
    learner.hard = (far, nearly, beaten)
    learner.observe(4, policy, (), never)
    learner.observe(5, policy, (), never)
    assert learner.hard[0] == far
    assert beaten not in learner.hard
    assert all(chosen.update in (2, 4) for chosen in learner.hard)
    assert {chosen.update for chosen in learner.promoted} <= {4}


def test_number_of_hard_configs_is_limited(labs: LabPool) -> None:
    small = replace(OPTIONS, cost=1 / 8, most_hard=8)  # 90 decisions of a contest: one of the policy's 40 fits
    learner, policy = Curriculum(small, PROFILE, 5, DECISIONS, labs), initial_policy(8, 1).state_dict()
    for update in range(2, 8):
        metrics = learner.observe(update, policy, (), never)
        assert metrics is not None
    assert len(learner.hard) == 1
    large = Curriculum(replace(OPTIONS, most_hard=8), PROFILE, 5, DECISIONS, labs)
    for update in range(2, 8):
        large.observe(update, policy, (), never)
    assert len(large.hard) > 1


def test_interrupted_contest_is_repeated(labs: LabPool) -> None:
    policy, other = initial_policy(8, 1).state_dict(), initial_policy(8, 9).state_dict()
    old, _ = model_file(initial_policy(8, 2).state_dict(), "old", "x")
    one, two = curriculum(labs), curriculum(labs)
    one.observe(2, policy, (old,), never)
    two.restore(one.state())
    metrics = [learner.observe(3, other, (old, old), never) for learner in (one, two)]
    assert one.hard == two.hard != ()
    assert metrics[0] is not None
    assert metrics[1] is not None
    assert metrics[0]["curriculum/gap_median"] == metrics[1]["curriculum/gap_median"]


def test_stopping_does_not_wait_for_a_contest(labs: LabPool) -> None:
    learner = curriculum(labs)
    learner.observe(2, initial_policy(8, 1).state_dict(), (), never)
    assert learner.observe(3, initial_policy(8, 1).state_dict(), (), lambda: True) is None
    assert learner.observe(3, initial_policy(8, 1).state_dict(), (), never) is not None
