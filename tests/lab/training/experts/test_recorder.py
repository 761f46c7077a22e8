"""Experts recorded in the lab."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from env import schema
from env.expert import Expert
from env.lab import LabError, VirtualLab
from env.network.path import Path as NetworkPath
from env.pool import LabPool
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow, Profile, load_profile
from training.experts.recorder import described, draw, find_experts, record
from training.experts.recording import Drawn, Lesson, connections


def same(one: Sequence[Lesson], other: Sequence[Lesson]) -> bool:
    named = [[(lesson.scheme, lesson.episode_config) for lesson in lessons] for lessons in (one, other)]
    return named[0] == named[1] and all(np.array_equal(a.steps, b.steps) for a, b in zip(one, other, strict=True))


def recorded(
    profile: Profile,
    experts: list[Expert],
    episode_configs: tuple[Drawn, ...],
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Lesson, ...]:
    with LabPool(workers, partial(VirtualLab, seed=1)) as pool:
        return record(profile, experts, episode_configs, pool, progress)


def test_lessons_are_the_same_with_any_number_of_labs() -> None:
    profile = load_profile("mixed")
    profile.episode_decisions = 30
    experts = find_experts(["bbr", "cubic", "window@16"])
    shared = Drawn(
        EpisodeConfig(NetworkPath(rate_mbps=20, rtt_ms=40), (EpisodeFlow(LEARNER, 0.5), EpisodeFlow("nv", 0.2))), 3
    )
    episode_configs = (*draw(profile, 2, 5), shared)
    assert draw(profile, 3, 5)[:2] == episode_configs[:2]
    done: list[int] = []
    one, two = (recorded(profile, experts, episode_configs, workers, done.append) for workers in (1, 2))
    assert same(one, two)
    assert sum(done) == 2 * 9
    assert [(taught.episode_config, taught.scheme) for taught in one] == [
        (number, scheme) for number in range(3) for scheme in ("bbr", "cubic", "window@16")
    ]
    for taught in one:
        own = connections(taught.steps)
        assert len(own) == len(episode_configs[taught.episode_config].episode_config.learners)
        for steps in own:
            assert steps["decision"].tolist() == list(range(steps.size))
            assert steps["actions"][-1].tolist() == [0, 0]
        assert sum(steps.size - 1 for steps in own) == 30 * len(own)
        if taught.scheme == "window@16":
            assert (taught.steps["cwnd"] == 16).all()
            stays = round(math.log2((16 - 1 - 4 / 4) / 16) * 2**schema.ACTION_FRAC)  # less what the law adds
            assert all((steps["actions"][:-1] == (stays, 0)).all() for steps in own)
        else:
            assert (taught.steps["actions"] != 0).any()
    made = described(profile, experts, episode_configs, 5)
    assert set(made["sha256"]) >= {"lab kernel", "tcp_expert", "tcp_window", "tcp_nv"}


def test_what_the_kernel_cannot_watch_is_told() -> None:
    profile = load_profile("bottleneck")
    with pytest.raises(LabError, match=r"dctcp cannot be recorded as an expert: .*it needs ECN"):
        recorded(profile, find_experts(["dctcp"]), draw(profile, 1, 1))
