"""Recordings of experts made of numbers, for tests that need no lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from env import schema
from env.network.path import Path
from env.profile import EpisodeConfig, EpisodeFlow
from env.reward import RewardWeights
from training.experts.recording import STEP, DrawnEpisode, Lesson, Recording

MADE = {"command": "made up", "profile": "bottleneck", "seed": 1, "sha256": {"kernel": "0" * 64}}
Act = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


def drawn(number: int) -> DrawnEpisode:
    others = (EpisodeFlow("cubic", 0.5),) * (number % 2)
    reward = RewardWeights(delay=0.1) if number % 3 == 2 else None
    return DrawnEpisode(
        EpisodeConfig(Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1 + number), others, reward), 2**62 + number
    )


def lesson(
    scheme: str, episode_config: int, intervals: int, act: Act | None = None, share: float = 0.5, flows: int = 1
) -> Lesson:
    """Connections that get a share of 20 Mbit/s, with random inputs.

    act: the actions that follow from the inputs, [K, D] to [K, A]; random ones by default.
    """
    rng = np.random.default_rng((episode_config, intervals, len(scheme)))
    parts = []
    for flow in range(1, flows + 1):
        steps = np.zeros(intervals + 1, STEP)
        steps["flow"], steps["decision"] = flow, np.arange(intervals + 1)
        steps["now_us"] = 32_768_000 + 1_000_000 + 40_000 * np.arange(intervals + 1)
        steps["mss"], steps["rtt_us"], steps["srtt_us"], steps["cwnd"] = 1448, 40_000, 40_000, 70
        steps["delivered"] = np.rint(share * 20e6 * 0.04 / 8 / 1448 * np.arange(intervals + 1))
        steps["features"] = rng.integers(-4096, 4096, (intervals + 1, len(schema.FEATURES)))
        seen = steps["features"][:-1].astype(np.float32) / 2**schema.FEATURE_FRAC
        actions = rng.uniform(-1, 1, (intervals, len(schema.ACTIONS))) if act is None else act(seen)
        steps["actions"][:-1] = np.rint(np.clip(actions, -1, 1) * 2**schema.ACTION_FRAC)
        parts.append(steps)
    return Lesson(scheme, episode_config, np.concatenate(parts))


def recording(*lessons: Lesson) -> Recording:
    return Recording(tuple(drawn(number) for number in range(4)), lessons, MADE)


def same_lessons(one: Sequence[Lesson], other: Sequence[Lesson]) -> bool:
    named = [[(lesson.scheme, lesson.episode) for lesson in lessons] for lessons in (one, other)]
    return named[0] == named[1] and all(np.array_equal(a.steps, b.steps) for a, b in zip(one, other, strict=True))
