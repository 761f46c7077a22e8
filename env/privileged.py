"""The privileged observation, which only the critic sees: the path, all flows, and the future capacity.

These inputs do not depend on the policy's decisions, so a baseline that uses their future stays unbiased: a rate step
in three round trips says nothing about the current action ("Variance Reduction for Reinforcement Learning in
Input-Driven Environments", Mao et al., 2019). Without this observation, differences between episodes, such as a rival
that takes more than its share, would dominate the differences between decisions.

The width is fixed: a scheme or a reward term that is added later changes no network, and a run from before can go on.
Each scheme has the column of its place in env.network.schemes.SCHEMES, each term of the reward that of its place in
env.reward.RewardWeights: both tables only grow at their end. A column without a name is always 0. The congestion
controls that a user brings share one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from env.network.capacity import base_rtt_ms, capacity_until
from env.network.schemes import SCHEMES
from env.profile import PATH_FEATURES, SNAPSHOT, EpisodeConfig, EpisodeFlow
from env.reward import TERMS, RewardWeights

AHEAD_RTTS = (1, 10, 50)  # round trips of the empty path; the fair share is reported over each
LEAST_SHARE = 2.0**-8  # of the path's first rate; a smaller share is reported as this
RIVAL_COLUMNS, TERM_COLUMNS = 24, 8
OWN = "own"  # stands for the congestion controls that a user brings


def columns_of(names: Sequence[str], columns: int) -> dict[str, int]:
    """Return the column of each name. Raises ValueError when there are more names than columns."""
    if len(names) > columns:
        raise ValueError(
            f"env/privileged.py has {columns} columns for {', '.join(names)}: with more, the critic is wider, and runs "
            "from before cannot go on"
        )
    return {name: column for column, name in enumerate(names)}


RIVALS = columns_of((OWN, SNAPSHOT, *SCHEMES), RIVAL_COLUMNS)
TERMS_OF_REWARD = columns_of(tuple(TERMS), TERM_COLUMNS)

PRIVILEGED = (
    *PATH_FEATURES,
    "own_rtt",  # log2 of the connection's own RTT without a queue over the base RTT
    "learners",  # learners that have begun, itself included: 1 at four
    *(f"rivals_{column}" for column in range(RIVAL_COLUMNS)),  # rivals of a scheme that have begun
    *(f"weights_{column}" for column in range(TERM_COLUMNS)),  # weight of a term of the reward
    *(f"share_{rtts}" for rtts in AHEAD_RTTS),  # log2 of the fair share from now on over the path's first rate, over 4
)

Floats = npt.NDArray[np.float64]


def privileged_observation(
    config: EpisodeConfig, learner: EpisodeFlow, weights: RewardWeights, t_s: Floats
) -> npt.NDArray[np.float32]:
    """Return [K + 1, len(PRIVILEGED)] numbers of about -1 to 1. t_s: [K + 1], of the observations in the run."""
    path = config.path
    capacity = capacity_until(path, t_s[-1])
    rtt_ms = base_rtt_ms(path, t_s, learner.client)  # [K + 1]
    flows = (*config.learners, *config.rivals)
    rivals: dict[int, list[EpisodeFlow]] = {}
    for rival in config.rivals:
        rivals.setdefault(RIVALS.get(rival.scheme, RIVALS[OWN]), []).append(rival)
    weight_in = {TERMS_OF_REWARD[name]: weight for name, weight in asdict(weights).items()}
    columns: list[Floats | float] = [*config.features()]
    columns.append(np.log2(rtt_ms / max(path.rtt_ms, 1.0)))
    columns.append(_begun(config.learners, t_s) / 4)
    columns += [_begun(rivals[column], t_s) if column in rivals else 0.0 for column in range(RIVAL_COLUMNS)]
    columns += [weight_in.get(column, 0.0) for column in range(TERM_COLUMNS)]
    for rtts in AHEAD_RTTS:
        ahead_s = np.maximum(rtts * rtt_ms, 1.0) / 1e3
        share = capacity.between(t_s, t_s + ahead_s) / ahead_s / np.maximum(_begun(flows, t_s + ahead_s / 2), 1)
        columns.append(np.log2(np.maximum(share / path.rate_mbps, LEAST_SHARE)) / 4)
    observation = np.empty((t_s.size, len(PRIVILEGED)), np.float32)
    for i, column in enumerate(columns):
        observation[:, i] = column
    return observation


def _begun(flows: Sequence[EpisodeFlow], t_s: Floats) -> Floats:
    """Return how many of the flows have begun by each time."""
    starts_s = np.array([flow.start_s for flow in flows])
    begun: Floats = np.count_nonzero(starts_s[:, None] <= t_s, axis=0).astype(np.float64)
    return begun
