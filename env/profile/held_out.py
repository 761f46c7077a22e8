"""The paths that training never sees: the bands of configs/held_out.yaml, and the traces of datasets/traces/held_out.

A path is held out when its rate, its RTT and its buffer all lie in bands, or when its link follows a held-out trace. No
profile draws a rate, an RTT or a buffer from a band, whatever the other two values are. So a held-out path differs from
every training path in all three.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import yaml

from env.checkout import CONFIGS
from env.errors import UserError
from env.network.path import Path

FILE = CONFIGS / "held_out.yaml"
TRACES = "held_out/"  # prefix of the names of held-out traces
RECORDED = "recorded/"  # prefix of the names of recordings, which training must not see either
BANDED = ("rate_mbps", "rtt_ms", "buffer_bdp")

Bands = tuple[tuple[float, float], ...]


@functools.cache
def held_out_bands() -> Mapping[str, Bands]:
    """Return the bands of each number of BANDED, in ascending order; raises UserError."""
    return read_bands(FILE.read_text())


def read_bands(text: str) -> Mapping[str, Bands]:
    """Return the bands of a YAML text; raises UserError."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{FILE}: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or set(content) != set(BANDED):
        raise UserError(f"{FILE}: its keys must be {', '.join(BANDED)}")
    all_bands = {}
    for name in BANDED:
        try:
            bands = tuple((float(low), float(high)) for low, high in content[name])
        except (TypeError, ValueError) as error:
            raise UserError(f"{FILE}: {name} is {content[name]!r}; it must be a list of [low, high]") from error
        if not bands or not all(0 < low < high < math.inf for low, high in bands):
            raise UserError(f"{FILE}: {name} is {content[name]}; it must have a band, and 0 < low < high in each")
        if not all(high < low for (_, high), (low, _) in pairwise(bands)):
            raise UserError(f"{FILE}: {name} is {content[name]}; the bands must be in ascending order and not touch")
        all_bands[name] = bands
    return all_bands


def in_band(name: str, value: float) -> bool:
    """Return whether a value lies in a held-out band, ends included; False for a number without bands."""
    return any(low <= value <= high for low, high in held_out_bands().get(name, ()))


def within_band(name: str, low: float, high: float) -> bool:
    """Return whether a whole range lies in one band, so that training could draw nothing from it."""
    return any(begin <= low and high <= end for begin, end in held_out_bands().get(name, ()))


def outside_bands(name: str, draw: Callable[[], float | None]) -> float | None:
    """Return the first value of `draw` that lies in no band; None for the path's default.

    Never returns when all values of `draw` lie in bands; check_profile refuses such a profile.
    """
    while True:
        value = draw()
        if value is None or not in_band(name, value):
            return value


def draw_in_band(name: str, rng: np.random.Generator) -> float:
    """Return a value from the bands of a number, log-uniform over all its bands together."""
    bands = held_out_bands()[name]
    widths = [math.log(high / low) for low, high in bands]
    position = float(rng.uniform(0, sum(widths)))
    for (low, high), width in zip(bands, widths, strict=True):
        if position <= width:
            return min(max(low * math.exp(position), low), high)
        position -= width
    return bands[-1][1]  # a rounding error placed it beyond the last band


def is_held_out(path: Path) -> bool:
    """Return whether training must not see a path."""
    if any(trace.startswith((TRACES, RECORDED)) for trace in (path.trace, path.delay_trace)):
        return True
    return path.topology == "router" and all(in_band(name, getattr(path, name)) for name in BANDED)
