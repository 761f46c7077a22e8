"""The reward: what one control interval was worth. Pure functions of two consecutive observations and the path.

With x the goodput over the path's reference goodput, q the queueing delay, r the reference RTT::

    utility = x / 2 + (1 + log10(x) / 2) / 2          0.01 gives 0 and 1 gives 1; nothing is added above x = 1
    goodput =  weights.goodput * utility
    delay   = -weights.delay * ln(1 + q / (r + 10 ms))
    loss    = -weights.loss * (share of retransmitted packets - the path's own random loss)
    reward  =  goodput + delay + loss

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

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from env.network.path import PACKET_BYTES, Path

LOWEST_SHARE = 0.01  # of the reference goodput; at and below it the logarithmic half is worth nothing
UNNOTICED_MS = 10.0  # queueing delay that does not matter to anyone, added to the scale
UNAVOIDABLE_PACKETS = 2  # serialised before a delayed ACK (RFC 1122, 4.2.3.2) leaves the receiver: no queue yet


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
    """Weights of the three components; pure numbers, not negative."""

    goodput: float = 1.0
    delay: float = 0.3
    loss: float = 1.0


@dataclass(frozen=True)
class Reference:
    """What a path allows at best.

    goodput_mbps: the flow's share of what there is. rtt_ms: mean RTT without a queue. loss_share: random loss, 0 to 1.
    """

    goodput_mbps: float
    rtt_ms: float
    loss_share: float

    @classmethod
    def of(cls, path: Path, rivals: int = 0) -> Reference:
        """Return the reference for one of `rivals` + 1 flows that share the path."""
        rtt_ms = path.reference_rtt_ms
        if path.topology == "router":
            rtt_ms += UNAVOIDABLE_PACKETS * PACKET_BYTES * 8 / (path.rate_mbps * 1e3)
        return cls(path.reference_mbps / (1 + rivals), rtt_ms, path.loss_pct / 100)


class Outcome(NamedTuple):
    """One interval: the weighted components, whose sum is the reward, and what they were made of."""

    goodput: float
    delay: float
    loss: float
    goodput_mbps: float
    goodput_share: float  # of the reference goodput
    rtt_ms: float
    queueing_delay_ms: float
    loss_rate: float


def judge(before: Counters, after: Counters, reference: Reference, weights: RewardWeights) -> Outcome:
    """Return what the interval between two observations of a connection was worth.

    An interval without an RTT sample (all of it retransmitted) counts with the smoothed RTT. Two observations at the
    same instant count as one microsecond apart.
    """
    interval_us = max(after.now_us - before.now_us, 1)
    delivered = after.delivered - before.delivered
    goodput_mbps = delivered * after.mss * 8 / interval_us
    rtt_ms = (after.rtt_us or after.srtt_us) / 1e3
    queueing_delay_ms = max(0.0, rtt_ms - reference.rtt_ms)
    retransmitted = after.retransmitted - before.retransmitted
    sent = delivered + retransmitted
    loss_rate = retransmitted / sent if sent > 0 else 0.0
    return Outcome(
        weights.goodput * utility(goodput_mbps / reference.goodput_mbps),
        -weights.delay * math.log1p(queueing_delay_ms / (reference.rtt_ms + UNNOTICED_MS)),
        -weights.loss * (loss_rate - reference.loss_share),
        goodput_mbps,
        goodput_mbps / reference.goodput_mbps,
        rtt_ms,
        queueing_delay_ms,
        loss_rate,
    )


def utility(share: float) -> float:
    """Return the worth of a share of the reference goodput: 0 at nothing, 1 at all of it and above."""
    share = min(share, 1.0)
    return 0.5 * share + 0.5 * (1.0 + math.log10(share) / 2 if share > LOWEST_SHARE else 0.0)
