"""The privileged observation, which only the critic sees: the path, all flows, and the future capacity.

These inputs do not depend on the policy's decisions, so a baseline that uses their future stays unbiased: a rate step
in three round trips says nothing about the current action ("Variance Reduction for Reinforcement Learning in
Input-Driven Environments", Mao et al., 2019). Without this observation, differences between episodes, such as a rival
that takes more than its share, would dominate the differences between decisions.

The width is fixed: a scheme or a reward term that is added later changes no network, and a run from before can go on.
Numbers that belong to a name, such as the rivals of a scheme or the weight of a term, are therefore added up in a fixed
number of buckets. A hash of the name chooses two buckets ("Feature Hashing for Large Scale Multitask Learning",
Weinberger et al., 2009). Two names may share a bucket. One pair in 120 shares both: the critic cannot tell these two
apart, which makes its baseline coarser and leaves the gradient unbiased.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from env.network.capacity import base_rtt_ms, capacity_until
from env.profile import PATH_FEATURES, EpisodeConfig, EpisodeFlow
from env.reward import RewardWeights

AHEAD_RTTS = (1, 10, 50)  # round trips of the empty path; the fair share is reported over each
LEAST_SHARE = 2.0**-8  # of the path's first rate; a smaller share is reported as this
BUCKETS = 16  # more than the 12 schemes and 4 terms; a bucket without a name is always 0

PRIVILEGED = (
    *PATH_FEATURES,
    "own_rtt",  # log2 of the connection's own RTT without a queue over the base RTT
    "learners",  # learners that have begun, itself included: 1 at four
    *(f"rivals_{bucket}" for bucket in range(BUCKETS)),  # rivals that have begun, in the buckets of their schemes
    *(f"weights_{bucket}" for bucket in range(BUCKETS)),  # weights of the reward, in the buckets of their terms
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
    rivals = {
        scheme: _begun([rival for rival in config.rivals if rival.scheme == scheme], t_s)
        for scheme in {rival.scheme for rival in config.rivals}
    }
    columns: list[Floats | float] = [*config.features()]
    columns.append(np.log2(rtt_ms / max(path.rtt_ms, 1.0)))
    columns.append(_begun(config.learners, t_s) / 4)
    columns += in_buckets(rivals)
    columns += in_buckets(asdict(weights))
    for rtts in AHEAD_RTTS:
        ahead_s = np.maximum(rtts * rtt_ms, 1.0) / 1e3
        share = capacity.between(t_s, t_s + ahead_s) / ahead_s / np.maximum(_begun(flows, t_s + ahead_s / 2), 1)
        columns.append(np.log2(np.maximum(share / path.rate_mbps, LEAST_SHARE)) / 4)
    observation = np.empty((t_s.size, len(PRIVILEGED)), np.float32)
    for i, column in enumerate(columns):
        observation[:, i] = column
    return observation


def buckets_of(name: str) -> tuple[int, int]:
    """Return the two different buckets of a name, the same in every process and on every machine."""
    first, step = hashlib.sha256(name.encode()).digest()[:2]
    return first % BUCKETS, (first + 1 + step % (BUCKETS - 1)) % BUCKETS


def in_buckets(numbers: Mapping[str, Floats | float]) -> list[Floats | float]:
    """Return BUCKETS sums; each number counts in both buckets of its name."""
    sums: list[Floats | float] = [0.0] * BUCKETS
    for name in sorted(numbers):
        for bucket in buckets_of(name):
            sums[bucket] = sums[bucket] + numbers[name]
    return sums


def _begun(flows: Sequence[EpisodeFlow], t_s: Floats) -> Floats:
    """Return how many of the flows have begun by each time."""
    starts_s = np.array([flow.start_s for flow in flows])
    begun: Floats = np.count_nonzero(starts_s[:, None] <= t_s, axis=0).astype(np.float64)
    return begun
