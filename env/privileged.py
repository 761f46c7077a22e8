"""What only a critic may know of a connection: the path, who else is there, and what the link is about to carry.

None of it depends on what the policy does. A baseline may therefore look ahead and stays one: that the rate falls in
three round trips is luck, not merit ("Variance Reduction for Reinforcement Learning in Input-Driven Environments", Mao
et al., 2019). Without it what distinguishes episodes, such as a rival that takes more than its share, drowns what
distinguishes decisions.
"""

from __future__ import annotations

from dataclasses import astuple, fields

import numpy as np
import numpy.typing as npt

from env.network.capacity import base_rtt_ms, capacity_until
from env.profile import LEARNER, PATH_FEATURES, RIVALS, EpisodeConfig, EpisodeFlow
from env.reward import RewardWeights

AHEAD_RTTS = (1, 10, 50)  # round trips of the empty path over which a share is told
LEAST_SHARE = 2.0**-8  # of the path's first rate; below, a share is told as this

PRIVILEGED = (
    *PATH_FEATURES,
    "own_rtt",  # log2 of the connection's own RTT without a queue over the base RTT
    "learners",  # flows with the policy that have begun, itself too: 1 at four
    *(f"rivals_{scheme}" for scheme in RIVALS),  # flows of others that have begun, each by its scheme
    *(f"weight_{entry.name}" for entry in fields(RewardWeights)),
    *(f"share_{rtts}" for rtts in AHEAD_RTTS),  # log2 of the fair share from now on over the path's first rate, over 4
)

Floats = npt.NDArray[np.float64]


def privileged_observation(
    episode_config: EpisodeConfig, learner: EpisodeFlow, weights: RewardWeights, t_s: Floats
) -> npt.NDArray[np.float32]:
    """Return [K + 1, len(PRIVILEGED)] numbers of about -1 to 1. t_s: [K + 1], of the observations in the run."""
    path = episode_config.path
    capacity = capacity_until(path, t_s[-1])
    rtt_ms = base_rtt_ms(path, t_s, learner.client)  # [K + 1]
    told: list[Floats | float] = [*episode_config.features()]
    told.append(np.log2(rtt_ms / max(path.rtt_ms, 1.0)))
    told.append(_begun(episode_config, LEARNER, t_s) / 4)
    told += [_begun(episode_config, scheme, t_s) for scheme in RIVALS]
    told += astuple(weights)
    for rtts in AHEAD_RTTS:
        ahead_s = np.maximum(rtts * rtt_ms, 1.0) / 1e3
        flows = _count([0.0, *(other.start_s for other in episode_config.others)], t_s + ahead_s / 2)
        share = capacity.between(t_s, t_s + ahead_s) / ahead_s / np.maximum(flows, 1)
        told.append(np.log2(np.maximum(share / path.rate_mbps, LEAST_SHARE)) / 4)
    columns = [np.broadcast_to(np.asarray(column, np.float32), t_s.shape) for column in told]
    return np.stack(columns, axis=-1)


def _begun(episode_config: EpisodeConfig, scheme: str, t_s: Floats) -> Floats:
    """Return how many flows of a scheme have begun by then; the first learner has at 0."""
    return _count(
        [other.start_s for other in (EpisodeFlow(LEARNER), *episode_config.others) if other.scheme == scheme], t_s
    )


def _count(starts_s: list[float], t_s: Floats) -> Floats:
    begun: Floats = np.count_nonzero(np.array(starts_s)[:, None] <= t_s, axis=0).astype(np.float64)
    return begun
