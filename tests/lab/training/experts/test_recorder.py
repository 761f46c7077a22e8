"""The recorder of experts, in the lab."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from env import schema
from env.expert import Expert
from env.lab import LabError
from env.network.path import Path as NetworkPath
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow, Profile, load_profile
from tests.support.experts import same_lessons
from tests.support.labs import lab_pool
from training.experts.recorder import draw, find_experts, provenance_of, record
from training.experts.recording import DrawnEpisode, Lesson, connections


def recorded(
    profile: Profile,
    experts: list[Expert],
    episodes: tuple[DrawnEpisode, ...],
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Lesson, ...]:
    with lab_pool(workers) as pool:
        return record(profile, experts, episodes, pool, progress)


def test_number_of_labs_does_not_change_lessons() -> None:
    profile = load_profile("mixed")
    profile.episode_decisions = 30
    experts = find_experts(["bbr", "cubic", "window@16"])
    shared = DrawnEpisode(
        EpisodeConfig(NetworkPath(rate_mbps=20, rtt_ms=40), (EpisodeFlow(LEARNER, 0.5), EpisodeFlow("nv", 0.2))), 3
    )
    episodes = (*draw(profile, 2, 5), shared)
    assert draw(profile, 3, 5)[:2] == episodes[:2]
    done: list[int] = []
    one, two = (recorded(profile, experts, episodes, workers, done.append) for workers in (1, 2))
    assert same_lessons(one, two)
    assert sum(done) == 2 * 9
    assert [(lesson.episode, lesson.scheme) for lesson in one] == [
        (number, scheme) for number in range(3) for scheme in ("bbr", "cubic", "window@16")
    ]
    for lesson in one:
        of_flows = connections(lesson.steps)
        assert len(of_flows) == len(episodes[lesson.episode].episode_config.learners)
        for steps in of_flows:
            assert steps["decision"].tolist() == list(range(steps.size))
            assert steps["actions"][-1].tolist() == [0, 0]
        assert sum(steps.size - 1 for steps in of_flows) == 30 * len(of_flows)
        if lesson.scheme == "window@16":
            assert (lesson.steps["cwnd"] == 16).all()
            stays = round(math.log2((16 - 1 - 4 / 4) / 16) * 2**schema.ACTION_FRAC)  # less what the law adds
            assert all((steps["actions"][:-1] == (stays, 0)).all() for steps in of_flows)
        else:
            assert (lesson.steps["actions"] != 0).any()
    facts = provenance_of(profile, experts, episodes, 5)
    assert set(facts["sha256"]) >= {"linux", "flow", "tcp_expert.ko", "tcp_window.ko", "tcp_nv.ko"}


def test_expert_that_the_kernel_cannot_watch_is_named() -> None:
    profile = load_profile("bottleneck")
    with pytest.raises(LabError, match=r"dctcp cannot be recorded as an expert: .*it needs ECN"):
        recorded(profile, find_experts(["dctcp"]), draw(profile, 1, 1))
