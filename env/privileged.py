"""The privileged observation: what only the critic sees, namely the path, all flows, and the capacity ahead.

None of it depends on the policy's decisions, so a baseline may look ahead and stays unbiased: that the rate falls in
three round trips is luck, not merit ("Variance Reduction for Reinforcement Learning in Input-Driven Environments", Mao
et al., 2019). Without it, differences between episodes, such as a rival that takes more than its share, would drown the
differences between decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

import numpy as np
import numpy.typing as npt

from env.network.capacity import base_rtt_ms, capacity_until
from env.profile import LEARNER, PATH_FEATURES, RIVALS, EpisodeConfig, EpisodeFlow
from env.reward import TERMS, RewardWeights

AHEAD_RTTS = (1, 10, 50)  # round trips of the empty path; the fair share is reported over each
LEAST_SHARE = 2.0**-8  # of the path's first rate; a smaller share is reported as this

PRIVILEGED = (
    *PATH_FEATURES,
    "own_rtt",  # log2 of the connection's own RTT without a queue over the base RTT
    "learners",  # learners that have begun, itself included: 1 at four
    *(f"rivals_{scheme}" for scheme in RIVALS),  # rivals that have begun, by scheme
    *(f"weight_{name}" for name in TERMS),
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
    columns: list[Floats | float] = [*config.features()]
    columns.append(np.log2(rtt_ms / max(path.rtt_ms, 1.0)))
    columns.append(_begun([flow for flow in flows if flow.scheme == LEARNER], t_s) / 4)
    columns += [_begun([flow for flow in flows if flow.scheme == scheme], t_s) for scheme in RIVALS]
    columns += astuple(weights)
    for rtts in AHEAD_RTTS:
        ahead_s = np.maximum(rtts * rtt_ms, 1.0) / 1e3
        share = capacity.between(t_s, t_s + ahead_s) / ahead_s / np.maximum(_begun(flows, t_s + ahead_s / 2), 1)
        columns.append(np.log2(np.maximum(share / path.rate_mbps, LEAST_SHARE)) / 4)
    return np.stack([np.broadcast_to(np.asarray(column, np.float32), t_s.shape) for column in columns], axis=-1)


def _begun(flows: Sequence[EpisodeFlow], t_s: Floats) -> Floats:
    """Return how many of the flows have begun by each time."""
    starts_s = np.array([flow.start_s for flow in flows])
    begun: Floats = np.count_nonzero(starts_s[:, None] <= t_s, axis=0).astype(np.float64)
    return begun
