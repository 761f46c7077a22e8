"""The reward of one control interval. Pure functions of two consecutive observations and of the path's reference.

With x the goodput over the flow's reference goodput, q the queueing delay, r the reference RTT::

    utility  = x / 2 + (1 + log10(x) / 2) / 2          0 below 0.01, and 1 at 1; nothing is added above x = 1
    goodput  =  weights.goodput * utility
    delay    = -weights.delay * ln(1 + max(0, q - r / 8) / (r + 10 ms))
    loss     = -weights.loss * (share of retransmitted packets - the path's own random loss)
    fairness = -weights.fairness * log2(x) where x > 1 and other flows are on the path, else 0
    reward   =  goodput + delay + loss + fairness

The reference goodput of one of n flows is an n-th of what the path carries: its fair share (env/reference.py).

The logarithm makes a step from 1 % to 10 % of the link add as much as one from 10 % to 100 %, so that a slow start
has a price. The linear half keeps a price on the last per cents, which the logarithm alone would give away for the
slightest queue. Both are concave: a steady rate beats one that swings around the same mean. Above the reference nothing
is gained, so a flow does not profit from more than its share or from bursts after a pause.

The logarithm of the delay keeps a slope at queues of several round trips and has slope 1 where there is hardly any
queue. Ten milliseconds are added because users do not notice a shorter queue. A queue of an eighth of the reference
RTT is free: without one a flow cannot tell whether the link carries more, nor come to even shares with others.

Goodput counts what was delivered, selectively acknowledged packets included. The cumulative acknowledgement stands
still behind a hole and then jumps: it would charge a sender for the order in which the network delivers, and hide the
effect of its window (in delay_extreme, every constant window from 8 to 64 packets looked alike).

The loss share is not clipped at zero. Its mean over many intervals is then unbiased however noisy a single interval is.

`RewardWeights` is the table of the terms. The names in `info`, the charts `charts/reward_NAME`, the documentation of
the environment and the critic's inputs derive from it. To add a term, write its formula and its line in the table, and
give it a weight in a profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from env.markdown import markdown_table

LOWEST_SHARE = 0.01  # of the reference goodput; the logarithmic half is 0 at and below it
FREE_QUEUE = 1 / 8  # of the reference RTT: such a queueing delay costs nothing
UNNOTICED_MS = 10.0  # queueing delay that users do not notice, added to the scale of the delay
LEAST_MBPS = 1e-3  # the reference goodput counts as at least this, also on a link that carries nothing for a while

Numbers = float | npt.NDArray[Any]  # one interval, or an array of several


class Counters(Protocol):
    """The part of an observation (env.lab.Observation) that the reward needs."""

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


class Measured(NamedTuple):
    """The differences between two consecutive observations of a connection.

    length_us: at least 1. rtt_us: the mean of the interval, or the smoothed RTT where there was no sample.
    """

    length_us: Numbers
    delivered_bytes: Numbers
    delivered: Numbers
    retransmitted: Numbers
    rtt_us: Numbers


class Reference(NamedTuple):
    """What a path allows a flow at best; env/reference.py computes it.

    goodput_mbps: the flow's fair share of the capacity. rtt_ms: mean RTT without a queue. loss_share: the path's random
    loss, 0 to 1. shared: whether other flows are on the path.
    """

    goodput_mbps: Numbers
    rtt_ms: Numbers
    loss_share: Numbers
    shared: Numbers


class Performance(NamedTuple):
    """What the reward is computed from, besides the reference.

    goodput_share: of the reference goodput. loss_rate: share of retransmitted packets, 0 to 1.
    """

    goodput_mbps: Numbers
    goodput_share: Numbers
    rtt_ms: Numbers
    queueing_delay_ms: Numbers
    loss_rate: Numbers


# -- the terms: what each adds to the reward at weight 1, by performance and reference --


def utility(goodput_share: Numbers) -> Numbers:
    """Return the utility of a share of the reference goodput: 0 at no goodput, 1 at a share of 1 and above."""
    share = np.minimum(goodput_share, 1.0)
    logarithm = np.log10(np.maximum(share, LOWEST_SHARE))
    return 0.5 * share + 0.5 * (1.0 + logarithm / 2)


def _goodput(performance: Performance, _: Reference) -> Numbers:
    return utility(performance.goodput_share)


def _delay(performance: Performance, reference: Reference) -> Numbers:
    beyond_ms = np.maximum(0.0, performance.queueing_delay_ms - FREE_QUEUE * reference.rtt_ms)
    return -np.log1p(beyond_ms / (reference.rtt_ms + UNNOTICED_MS))


def _loss(performance: Performance, reference: Reference) -> Numbers:
    return -(performance.loss_rate - reference.loss_share)


def _fairness(performance: Performance, reference: Reference) -> Numbers:
    return -np.log2(np.maximum(performance.goodput_share, 1.0)) * reference.shared


Formula = Callable[[Performance, Reference], Numbers]


def _term(weight: float, formula: Formula, unit: str, help: str) -> float:
    """Return the dataclass field of a term. weight: default. unit: of the formula's value."""
    default: float = field(default=weight, metadata={"formula": formula, "unit": unit, "help": help})
    return default


@dataclass
class RewardWeights:
    """The terms of the reward with their weights: pure numbers, not negative. The reward is the sum of the terms.

    A new term comes at the end: its place is its column in what the critic observes (env/privileged.py).
    """

    goodput: float = _term(1.0, _goodput, "0 to 1", "utility of the goodput, relative to the fair share")
    delay: float = _term(0.3, _delay, "nats", "queueing delay beyond an eighth of the reference RTT, relative to it")
    loss: float = _term(1.0, _loss, "share of packets", "retransmissions beyond the path's random loss")
    fairness: float = _term(0.3, _fairness, "octaves", "goodput above the fair share of a link with other flows")


TERMS = {entry.name: entry.metadata for entry in fields(RewardWeights)}


class Outcome(NamedTuple):
    """The reward of an interval, or of each of several. terms: weighted, by name."""

    terms: dict[str, Numbers]
    performance: Performance

    @property
    def reward(self) -> Numbers:
        """The sum of the terms."""
        return sum(self.terms.values())

    def numbers(self) -> dict[str, Numbers]:
        """Return the terms as `reward/NAME` and the performance, in the order of OUTCOME."""
        return dict(zip(OUTCOME, (*self.terms.values(), *self.performance), strict=True))


OUTCOME = (*(f"reward/{name}" for name in TERMS), *Performance._fields)  # names in `info`


def between(before: Counters, after: Counters) -> Measured:
    """Return the differences between two observations of a connection."""
    delivered = after.delivered - before.delivered
    return Measured(
        max(after.now_us - before.now_us, 1),
        delivered * after.mss,
        delivered,
        after.retransmitted - before.retransmitted,
        after.rtt_us or after.srtt_us,
    )


def compute_reward(interval: Measured, reference: Reference, weights: RewardWeights) -> Outcome:
    """Return the reward of an interval, or of each of several."""
    goodput_mbps = interval.delivered_bytes * 8 / interval.length_us
    rtt_ms = interval.rtt_us / 1e3
    performance = Performance(
        goodput_mbps,
        goodput_mbps / np.maximum(reference.goodput_mbps, LEAST_MBPS),
        rtt_ms,
        np.maximum(0.0, rtt_ms - reference.rtt_ms),
        interval.retransmitted / np.maximum(interval.delivered + interval.retransmitted, 1),
    )
    terms = {name: getattr(weights, name) * term["formula"](performance, reference) for name, term in TERMS.items()}
    return Outcome(terms, performance)


def terms_table() -> str:
    """Return a Markdown table of the terms, for documentation."""
    rows = [
        [f"`{entry.name}`", entry.metadata["help"], entry.metadata["unit"], f"{entry.default:g}"]
        for entry in fields(RewardWeights)
    ]
    return markdown_table(["term", "meaning", "unit", "default weight"], rows)
