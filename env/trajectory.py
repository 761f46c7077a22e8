"""Computes trajectories with rewards, from which a training learns, from the record of a rollout.

Letters of shapes: K decisions of a connection, D observation, A action, P privileged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from env.privileged import privileged_observation
from env.profile import EpisodeConfig, EpisodeFlow
from env.reference import FlowReference, run_origin_us
from env.reward import Measured, Outcome, RewardWeights, compute_reward
from env.schema import FIRST_SOURCE_PORT
from env.spaces import ACTION_SCALE, FEATURE_SCALE, INFO

Floats = npt.NDArray[np.float64]
Steps = npt.NDArray[np.void]  # rows of schema.STEP_DTYPE


class Trajectory(NamedTuple):
    """One connection from its first decision on.

    observations: the last one follows the last decision. actions: mean plus noise, before clipping to [-1, 1].
    privileged: for the critic only (env/privileged.py). infos: by the names of env.spaces.INFO; now_us counts from the
    beginning of the run. component: the mixture component of the episode.
    """

    observations: npt.NDArray[np.float32]  # [K + 1, D]
    actions: npt.NDArray[np.float32]  # [K, A]
    rewards: npt.NDArray[np.float32]  # [K]
    privileged: npt.NDArray[np.float32]  # [K + 1, P]
    infos: dict[str, Floats]  # [K] each
    component: str = ""


def trajectories(steps: Steps, config: EpisodeConfig, weights: RewardWeights) -> list[Trajectory]:
    """Return the trajectories of the learners that made two decisions or more, in the order in which they opened.

    steps: the record of a rollout. weights: of the reward, for an episode that has none of its own.
    """
    if not steps.size:
        return []
    origin_us = run_origin_us(int(steps["now_us"][0]))
    result = []
    for flow in np.unique(steps["flow"]):
        flow_steps = steps[steps["flow"] == flow]
        if flow_steps.size > 1:
            # learners are the first flows of a run
            learner = config.learners[int(flow_steps["port"][0]) - FIRST_SOURCE_PORT]
            result.append(_trajectory(flow_steps, config, learner, origin_us, config.reward or weights))
    return result


def _trajectory(
    steps: Steps, config: EpisodeConfig, learner: EpisodeFlow, origin_us: int, weights: RewardWeights
) -> Trajectory:
    now_us = steps["now_us"].astype(np.int64)
    measured = _measured(steps, now_us)
    t_s = (now_us - origin_us) / 1e6
    outcome = compute_reward(measured, FlowReference(config, learner).over(t_s), weights)
    return Trajectory(
        steps["features"].astype(np.float32) * FEATURE_SCALE,
        steps["actions"][:-1].astype(np.float32) * ACTION_SCALE,
        np.asarray(outcome.reward, np.float32),
        privileged_observation(config, learner, weights, t_s),
        _infos(outcome, steps, now_us - origin_us, measured),
        config.component,
    )


def _measured(steps: Steps, now_us: npt.NDArray[np.int64]) -> Measured:
    delivered = np.diff(steps["delivered"].astype(np.int64))
    rtt_us = np.where(steps["rtt_us"] > 0, steps["rtt_us"], steps["srtt_us"])[1:].astype(np.float64)
    return Measured(
        np.maximum(np.diff(now_us), 1),
        delivered * steps["mss"][1:].astype(np.int64),
        delivered,
        np.diff(steps["retransmitted"].astype(np.int64)),
        rtt_us,
    )


def _infos(outcome: Outcome, steps: Steps, t_us: npt.NDArray[np.int64], measured: Measured) -> dict[str, Floats]:
    columns: list[Any] = [*outcome.numbers().values(), steps["cwnd"][1:], t_us[1:], measured.length_us]
    return {name: np.asarray(column, np.float64) for name, column in zip(INFO, columns, strict=True)}
