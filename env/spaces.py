"""The spaces, scales and names of observation, action and `info` in the environments and in rollouts."""

from __future__ import annotations

from typing import cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from env import schema
from env.markdown import markdown_table
from env.reward import OUTCOME

FloatArray = npt.NDArray[np.float32]

FEATURE_SCALE = np.float32(2.0**-schema.FEATURE_FRAC)  # of an observation on the wire
ACTION_SCALE = np.float32(2.0**-schema.ACTION_FRAC)
INFO = (*OUTCOME, "cwnd", "now_us", "interval_us")  # names in `info` for each interval, besides `path`


def observation_space() -> gymnasium.Space[FloatArray]:
    """Return a Box with the limits of schema.FEATURES."""
    return _box(schema.FEATURES)


def action_space() -> gymnasium.Space[FloatArray]:
    """Return a Box with the limits of schema.ACTIONS."""
    return _box(schema.ACTIONS)


def fields_table(fields: tuple[schema.Field, ...]) -> str:
    """Return a Markdown table of inputs or outputs, for documentation."""
    rows = [[str(i), f"`{f.name}`", f.meaning, f"{f.low:g}", f"{f.high:g}"] for i, f in enumerate(fields)]
    return markdown_table(["index", "name", "meaning", "min", "max"], rows)


def _box(fields: tuple[schema.Field, ...]) -> gymnasium.Space[FloatArray]:
    low, high = ([getattr(field, end) for field in fields] for end in ("low", "high"))
    box = spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)
    return cast(gymnasium.Space[FloatArray], box)
