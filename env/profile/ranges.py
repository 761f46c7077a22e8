"""Narrows the ranges of a mixture component to the easy middle of each range, or to the surroundings of one episode.

Both functions return another mixture component, so that the sampler draws from it as usual, within the profile's ranges
and outside the held-out bands. Only ranges (uniform, log_uniform) become narrower. A log-uniform range is measured in
the logarithm.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from env.profile.episode_config import EpisodeConfig
from env.profile.held_out import within_band
from env.profile.mixture import DRAWN_FIELDS, Draw, MixtureComponent

# The smallest value of these is the easiest: a path without loss or jitter, flows with the same RTT. The easiest value
# of all other ranges is the middle.
LEAST_IS_EASY = ("loss_pct", "duplicate_pct", "reorder_pct", "jitter_ratio", "ack_burst_ms", "extra_rtt_ratio")


def middle(component: MixtureComponent, width: float) -> MixtureComponent:
    """Return the component with a share `width`, above 0 and at most 1, of each of its ranges.

    [low, high] becomes c -+ width (high - low) / 2 with c = (low + high) / 2, and for LEAST_IS_EASY
    [low, low + width (high - low)]. A range stays whole if only held-out values would be left.
    """
    if width >= 1:
        return component
    narrowed: dict[str, Any] = {name: _narrowed(name, draw, width) for name, draw in component.draws().items()}
    return replace(component, **narrowed)


def _narrowed(name: str, draw: Draw, width: float) -> Draw:
    if draw.uniform is not None:
        low, high = _share(name, draw.uniform[0], draw.uniform[1], width)
        narrowed = Draw(uniform=[low, high])
    elif draw.log_uniform is not None:
        first, last = draw.log_uniform
        low, high = (math.exp(end) for end in _share(name, math.log(first), math.log(last), width))
        narrowed = Draw(log_uniform=[max(low, first), min(high, last)])  # exp(log(x)) may miss x by a rounding error
    else:
        return draw
    return draw if within_band(name, low, high) else narrowed


def _share(name: str, low: float, high: float, width: float) -> tuple[float, float]:
    if name in LEAST_IS_EASY:
        return low, low + width * (high - low)
    centre, reach = (low + high) / 2, width * (high - low) / 2
    return centre - reach, centre + reach


def around(component: MixtureComponent, config: EpisodeConfig, factor: float) -> MixtureComponent:
    """Return the component of an episode, with each range cut to [number / factor, number * factor]; factor: above 1.

    number: the episode's value. Choices and counts (learners, rivals, trace) keep the episode's value.
    """
    path, rivals = config.path, config.rivals
    numbers = {name: getattr(path, name) for name in DRAWN_FIELDS}
    numbers["learners"] = float(len(config.learners))
    if rivals:
        numbers["rival_count"] = float(len(rivals))
    if path.rtt_ms:
        numbers["jitter_ratio"] = path.jitter_ms / (path.rtt_ms / 2)
    if path.clients > 1:
        numbers["extra_rtt_ratio"] = path.client_extra_rtt_ms[1] / path.rtt_ms
    if path.steps:
        numbers["rate_steps"] = float(len(path.steps))
    if len(path.steps) == 1 and path.steps[0].rate_mbps is not None:  # several are drawn anew
        numbers["rate_step"] = path.steps[0].rate_mbps / path.rate_mbps
    draws = component.draws()
    narrowed: dict[str, Any] = {name: _near(draws[name], number, factor) for name, number in numbers.items()}
    return replace(
        component,
        **narrowed,
        jitter_in_order_prob=float(not path.jitter_reorders),
        rivals=sorted({rival.scheme for rival in rivals}),
        rival_chance=1.0,
        traces=[path.trace] if path.trace else [],
    )


def _near(draw: Draw, number: float, factor: float) -> Draw:
    if draw.bounds() is None:
        return draw
    ends = draw.uniform or draw.log_uniform
    if ends is None or number <= 0:
        return Draw(fixed=number)
    return Draw(log_uniform=[max(ends[0], number / factor), min(ends[1], number * factor)])
