"""A training profile: the paths that a policy learns on, and the weights of its reward.

A profile is configs/profile/NAME.yaml, read into the dataclasses below (env/profile/load.py). It is a mixture: the next
path comes from one of its `paths` with a probability proportional to `weight`, and each number of the path is drawn
from its own distribution::

    paths:
      clean:
        weight: 3
        rate_mbps: {log_uniform: [1, 200]}
        loss_pct: {choice: [0, 1]}
      stress:
        weight: 1
        scenario: stress          # the path of configs/scenario/stress.yaml, unchanged
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

import numpy as np
from omegaconf import MISSING

from env.network.path import PACKET_BYTES, Path
from env.options import option
from env.reward import RewardWeights

MIN_DECISIONS = 64  # episode_packets makes no episode shorter than this
DRAWN_FIELDS = (  # of the path
    "rate_mbps",
    "rtt_ms",
    "buffer_bdp",
    "loss_pct",
    "duplicate_pct",
    "reorder_pct",
    "ack_burst_ms",
)


@dataclass
class Draw:
    """The distribution of one number. At most one field is set; without any, the path's default applies."""

    fixed: float | None = None
    choice: list[float] | None = None
    uniform: list[float] | None = None  # [low, high]
    log_uniform: list[float] | None = None  # [low, high], low above 0

    def bounds(self) -> tuple[float, float] | None:
        """Return the smallest and the largest possible value; None for the path's default."""
        if self.fixed is not None:
            return self.fixed, self.fixed
        values = self.choice or self.uniform or self.log_uniform
        return (min(values), max(values)) if values else None

    def draw(self, rng: np.random.Generator) -> float | None:
        """Return a value; None for the path's default."""
        if self.fixed is not None:
            return self.fixed
        if self.choice is not None:
            return self.choice[int(rng.integers(len(self.choice)))]
        if self.uniform is not None:
            low, high = self.uniform
            return float(rng.uniform(low, high))
        if self.log_uniform is not None:
            low, high = self.log_uniform
            value = math.exp(rng.uniform(math.log(low), math.log(high)))
            return min(max(value, low), high)  # exp(log(x)) may miss x by a rounding error
        return None


@dataclass
class MixtureComponent:
    """One component of a mixture: paths of a kind, or the path of a scenario.

    jitter_ratio: the standard deviation of netem's delay over the one-way base delay. jitter_in_order_prob: probability
    with which the packets keep their order in spite of it. learners: the number of flows that the policy controls.
    rivals: with probability rival_chance, rival_count flows of one of these schemes compete; a scheme is a key of
    episode_config.RIVALS, or NAME@PATH, which the user brings. start_spread_s: all flows
    but the first start within this time. extra_rtt_ratio: every second flow has a base RTT that is longer by this
    factor times the path's. rate_step: at a step of the rate, this factor times the first rate. rate_steps: the number
    of steps; the episode is divided into as many equal parts with one step in each. traces: the link follows one of
    these traces instead of a rate. reward: the weights on these paths, instead of the profile's.
    """

    weight: float = 1.0
    scenario: str | None = None
    rate_mbps: Draw = field(default_factory=Draw)
    rtt_ms: Draw = field(default_factory=Draw)
    buffer_bdp: Draw = field(default_factory=Draw)
    loss_pct: Draw = field(default_factory=Draw)
    duplicate_pct: Draw = field(default_factory=Draw)
    reorder_pct: Draw = field(default_factory=Draw)
    jitter_ratio: Draw = field(default_factory=Draw)
    jitter_in_order_prob: float = 0.0
    ack_burst_ms: Draw = field(default_factory=Draw)
    qdisc: str = "pfifo"
    learners: Draw = field(default_factory=Draw)
    rivals: list[str] = field(default_factory=list)
    rival_chance: float = 1.0
    rival_count: Draw = field(default_factory=Draw)
    start_spread_s: float = 0.0
    extra_rtt_ratio: Draw = field(default_factory=Draw)
    rate_step: Draw = field(default_factory=Draw)
    rate_steps: Draw = field(default_factory=Draw)
    traces: list[str] = field(default_factory=list)
    reward: RewardWeights | None = None

    def draws(self) -> dict[str, Draw]:
        """Return the distributions by name."""
        return {entry.name: draw for entry in fields(self) if isinstance(draw := getattr(self, entry.name), Draw)}


@dataclass
class Profile:
    """The keys of configs/profile/NAME.yaml; the first line of each file is the command that uses it."""

    name: str = MISSING
    paths: dict[str, MixtureComponent] = MISSING
    reward: RewardWeights = field(default_factory=RewardWeights)
    episode_decisions: int = option(256, "decisions of each learner in an episode, at most", ge=1)
    episode_s: float = option(60.0, "virtual seconds of an episode, at most", gt=0)
    episode_packets: float | None = option(
        None,
        "an episode ends after the decisions in which a full link carries so many packets; default: no limit",
        gt=0,
    )
    skip_slow_start_prob: float = option(
        0.0, "probability with which each learner skips slow start, as after an early loss", ge=0, le=1
    )

    def decisions_on(self, path: Path) -> int:
        """Return the number of decisions of each learner in an episode; fewer if a round trip has many packets."""
        if self.episode_packets is None or path.topology == "loopback":  # packets of 64 KB
            return self.episode_decisions
        packets = max(path.bdp_bytes / PACKET_BYTES, 1.0)  # of a round trip, which may take no time
        decisions = min(self.episode_packets / packets, self.episode_decisions)
        return max(round(decisions), min(MIN_DECISIONS, self.episode_decisions))


def with_jitter(path: Path, ratio: float, in_order: bool = False) -> Path:
    """Return the router path with a jitter of `ratio` times its one-way delay, and with the mean RTT that follows.

    A packet that keeps its place waits for the slowest of those shortly before it: about a standard deviation longer.
    An ACK waits for half of the time between two bursts.
    """
    if not ratio and not path.ack_burst_ms:
        return path
    one_way_ms = path.rtt_ms / 2
    jitter_ms = ratio * one_way_ms
    forth_ms = mean_positive_normal(one_way_ms, jitter_ms) if ratio else one_way_ms
    jittered = path.as_dict() | {
        "jitter_ms": jitter_ms,
        "jitter_reorders": not (in_order and ratio),
        "reference_rtt_ms": one_way_ms + forth_ms + in_order * jitter_ms + path.ack_burst_ms / 2,
    }
    return Path.from_dict(jittered)


def mean_positive_normal(mean: float, deviation: float) -> float:
    """Return the mean of max(0, N(mean, deviation)): netem sends a packet with a negative delay at once."""
    z = mean / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return mean * 0.5 * (1 + math.erf(z / math.sqrt(2))) + deviation * density
