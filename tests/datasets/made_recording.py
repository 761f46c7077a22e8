"""Recordings made of numbers, for tests that need no lab."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from datasets.teachers.recording import Course, Demonstration, Recording
from env import schema
from env.network.path import Path
from env.profile import PATH_FEATURES

MADE = {"command": "made up", "profile": "made", "seed": 1, "reward": {"goodput": 1.0}, "sha256": {"kernel": "0" * 64}}
Act = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


def course(number: int) -> Course:
    features = tuple(float(np.float32(number + i / 10)) for i in range(len(PATH_FEATURES)))
    path = Path(rate_mbps=10 + number).as_dict() | {"steps": [], "client_extra_rtt_ms": [], "tc": []}
    return Course(number, path, ("cubic",), 7, number + 1, features)


def demonstration(
    scheme: str, number: int, intervals: int, act: Act | None = None, reward: float = 0.5
) -> Demonstration:
    """Random inputs; actions that follow from them by `act`, [K, D] to [K, A], or random ones; a constant reward."""
    rng = np.random.default_rng((number, len(scheme)))
    features = rng.integers(-4096, 4096, (intervals + 1, len(schema.FEATURES)), np.int16)
    observed = {name: np.arange(intervals + 1) + i for i, name in enumerate(schema.OBSERVATION_FIELDS)}
    seen = features[:-1].astype(np.float32) / 2**schema.FEATURE_FRAC
    actions = rng.uniform(-1, 1, (intervals, len(schema.ACTIONS))).astype(np.float32) if act is None else act(seen)
    rewards = {"goodput": np.full(intervals, reward + 0.25, np.float32), "delay": np.full(intervals, -0.25, np.float32)}
    return Demonstration(scheme, course(number), observed, features, actions, rewards)


def recording(*demonstrations: Demonstration) -> Recording:
    return Recording(demonstrations, MADE)
