"""What a policy did on its connections, judged: from a lab's record to what a training learns from.

Letters of shapes: K decisions of a connection, D observation (10), A action (2), P privileged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from env import schema
from env.episode import FEATURE_SCALE, INFO
from env.network.capacity import base_rtt_ms
from env.privileged import privileged_observation
from env.profile import EpisodeConfig, EpisodeFlow
from env.reference import FlowReference, run_origin_us
from env.reward import Measured, Outcome, RewardWeights, compute_reward

Floats = npt.NDArray[np.float64]
Steps = npt.NDArray[np.void]

ACTION_SCALE = np.float32(2.0**-schema.ACTION_FRAC)


class Trajectory(NamedTuple):
    """One connection from its first decision on.

    observations: the last one follows the last decision. actions: mean and noise, before they were cut to [-1, 1].
    privileged: what only a critic may know at each observation (env/privileged.py). infos: env.episode.INFO by
    name; now_us counts from the beginning of the run. part: of the profile, that its episode was drawn from.
    """

    observations: npt.NDArray[np.float32]  # [K + 1, D]
    actions: npt.NDArray[np.float32]  # [K, A]
    rewards: npt.NDArray[np.float32]  # [K]
    privileged: npt.NDArray[np.float32]  # [K + 1, P]
    infos: dict[str, Floats]  # [K] each
    part: str = ""


def trajectories(steps: Steps, episode_config: EpisodeConfig, weights: RewardWeights) -> list[Trajectory]:
    """Return one trajectory for each learner of a record that made two decisions or more, in the order of opening."""
    if not steps.size:
        return []
    flows = np.unique(steps["flow"])
    origin_us = run_origin_us(int(steps["now_us"][0]))
    # flows are numbered as their connections open: a round trip after their starts
    learners = sorted(
        episode_config.learners, key=lambda learner: learner.start_s + _first_rtt_s(episode_config, learner)
    )
    judged = []
    for flow in flows.tolist():
        own = steps[steps["flow"] == flow]
        if own.size > 1:
            learner = learners[min(flow - int(flows[0]), len(learners) - 1)]
            judged.append(_trajectory(own, episode_config, learner, origin_us, episode_config.reward or weights))
    return judged


def _first_rtt_s(episode_config: EpisodeConfig, learner: EpisodeFlow) -> float:
    return float(base_rtt_ms(episode_config.path, np.array([learner.start_s]), learner.client)[0]) / 1e3


def _trajectory(
    own: Steps, episode_config: EpisodeConfig, learner: EpisodeFlow, origin_us: int, weights: RewardWeights
) -> Trajectory:
    now_us = own["now_us"].astype(np.int64)
    measured = _measured(own, now_us)
    t_s = (now_us - origin_us) / 1e6
    outcome = compute_reward(measured, FlowReference(episode_config, learner).over(t_s), weights)
    return Trajectory(
        own["features"].astype(np.float32) * FEATURE_SCALE,
        own["actions"][:-1].astype(np.float32) * ACTION_SCALE,
        np.asarray(outcome.reward, np.float32),
        privileged_observation(episode_config, learner, weights, t_s),
        _infos(outcome, own, now_us - origin_us, measured),
        episode_config.part,
    )


def _measured(own: Steps, now_us: npt.NDArray[np.int64]) -> Measured:
    delivered = np.diff(own["delivered"].astype(np.int64))
    rtt_us = np.where(own["rtt_us"] > 0, own["rtt_us"], own["srtt_us"])[1:].astype(np.float64)
    return Measured(
        np.maximum(np.diff(now_us), 1),
        delivered * own["mss"][1:].astype(np.int64),
        delivered,
        np.diff(own["retransmitted"].astype(np.int64)),
        rtt_us,
    )


def _infos(outcome: Outcome, own: Steps, since_us: npt.NDArray[np.int64], measured: Measured) -> dict[str, Floats]:
    columns: list[Any] = [*outcome.numbers().values(), own["cwnd"][1:], since_us[1:], measured.length_us]
    return {name: np.asarray(column, np.float64) for name, column in zip(INFO, columns, strict=True)}
