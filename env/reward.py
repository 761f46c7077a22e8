"""The reward: what one control interval was worth. Pure functions of two consecutive observations and the path.

With x the goodput over the path's reference goodput, q the queueing delay, r the reference RTT::

    utility = x / 2 + (1 + log10(x) / 2) / 2          0.01 gives 0 and 1 gives 1; nothing is added above x = 1
    goodput =  weights.goodput * utility
    delay   = -weights.delay * ln(1 + q / (r + 10 ms))
    loss    = -weights.loss * (share of retransmitted packets - the path's own random loss)
    fairness = -weights.fairness * log2(x) where x > 1 and others are on the path, else 0
    reward  =  goodput + delay + loss + fairness

The reference goodput of one of n flows is an n-th of what the path carries: its fair share.

The logarithm makes a step from 1 % to 10 % of the link worth as much as one from 10 % to all of it, so that a slow
start is not free; the linear half keeps a price on the last per cents, which the logarithm alone would give away for
the slightest queue. Both are concave: a steady rate beats one that swings around the same mean. Above the reference
nothing is gained, so a flow does not profit from taking more than its share or from bursts after a pause.

The logarithm of the delay keeps a slope at queues of several round trips and has slope 1 where there is hardly any
queue. Ten milliseconds are added because below them nobody notices a queue.

Goodput counts what was delivered, selectively acknowledged packets included: the cumulative acknowledgement stands
still behind a hole and then jumps, which would charge a sender for the order in which the network delivers, and hide
what its window does (in delay_extreme, every constant window from 8 to 64 packets looked alike).

The loss share is not clipped at zero: the mean over many intervals is then right however noisy a single one is, and a
policy is not charged for luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

LOWEST_SHARE = 0.01  # of the reference goodput; at and below it the logarithmic half is worth nothing
UNNOTICED_MS = 10.0  # queueing delay that does not matter to anyone, added to the scale
LEAST_MBPS = 1e-3  # a link that carries nothing for a while is one of so much

Numbers = float | npt.NDArray[Any]


class Counters(Protocol):
    """The part of an observation (env.lab.Observation) that the reward looks at."""

    @property
    def now_us(self) -> int: ...  # noqa: D102
    @property
    def rtt_us(self) -> int: ...  # noqa: D102
    @property
    def srtt_us(self) -> int: ...  # noqa: D102
    @property
    def delivered(self) -> int: ...  # noqa: D102
    @property
    def retransmitted(self) -> int: ...  # noqa: D102
    @property
    def mss(self) -> int: ...  # noqa: D102


@dataclass
class RewardWeights:
    """Weights of the four components; pure numbers, not negative."""

    goodput: float = 1.0
    delay: float = 0.3
    loss: float = 1.0
    fairness: float = 0.3


class Reference(NamedTuple):
    """What a path allows a flow at best; each a number, or one for each interval. env/reference.py computes it.

    goodput_mbps: the flow's fair share of the capacity. rtt_ms: mean RTT without a queue. loss_share: the path's random
    loss, 0 to 1. shared: whether other flows are on the path.
    """

    goodput_mbps: Numbers
    rtt_ms: Numbers
    loss_share: Numbers
    shared: Numbers


class Measured(NamedTuple):
    """What was measured from one observation to the next; each a number, or one for each interval.

    length_us: at least 1. rtt_us: the mean, or the smoothed RTT where there was no sample.
    """

    length_us: Numbers
    delivered_bytes: Numbers
    delivered: Numbers
    retransmitted: Numbers
    rtt_us: Numbers


class Outcome(NamedTuple):
    """The weighted components, whose sum is the reward, and what they were made of; shapes of the interval."""

    goodput: Numbers
    delay: Numbers
    loss: Numbers
    fairness: Numbers
    goodput_mbps: Numbers
    goodput_share: Numbers  # of the reference goodput
    rtt_ms: Numbers
    queueing_delay_ms: Numbers
    loss_rate: Numbers

    @property
    def reward(self) -> Numbers:
        """The sum of the components."""
        return self.goodput + self.delay + self.loss + self.fairness


def between(before: Counters, after: Counters) -> Measured:
    """Return what two observations of a connection measured. Two at the same instant count as 1 us apart."""
    delivered = after.delivered - before.delivered
    return Measured(
        max(after.now_us - before.now_us, 1),
        delivered * after.mss,
        delivered,
        after.retransmitted - before.retransmitted,
        after.rtt_us or after.srtt_us,
    )


def compute_reward(interval: Measured, reference: Reference, weights: RewardWeights) -> Outcome:
    """Return what an interval, or each of several, was worth."""
    goodput_mbps = interval.delivered_bytes * 8 / interval.length_us
    share = goodput_mbps / np.maximum(reference.goodput_mbps, LEAST_MBPS)
    rtt_ms = interval.rtt_us / 1e3
    queueing_delay_ms = np.maximum(0.0, rtt_ms - reference.rtt_ms)
    sent = interval.delivered + interval.retransmitted
    loss_rate = interval.retransmitted / np.maximum(sent, 1)
    excess = np.log2(np.maximum(share, 1.0)) * reference.shared
    return Outcome(
        weights.goodput * utility(share),
        -weights.delay * np.log1p(queueing_delay_ms / (reference.rtt_ms + UNNOTICED_MS)),
        -weights.loss * (loss_rate - reference.loss_share),
        -weights.fairness * excess,
        goodput_mbps,
        share,
        rtt_ms,
        queueing_delay_ms,
        loss_rate,
    )


def utility(share: Numbers) -> Numbers:
    """Return the worth of a share of the reference goodput: 0 at nothing, 1 at all of it and above."""
    share = np.minimum(share, 1.0)
    logarithm = np.log10(np.maximum(share, LOWEST_SHARE))
    return 0.5 * share + 0.5 * (1.0 + logarithm / 2)
