"""The spaces, scales and names of observation, action and `info` in the environments and in rollouts."""

from __future__ import annotations

from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from env import schema
from env.errors import UserError
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


def checked_actions(given: Any, space: gymnasium.Space[FloatArray]) -> FloatArray:
    """Return actions as an array of the space's shape, whatever their magnitude. Raises UserError."""
    try:
        actions = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        actions = np.empty(0, np.float32)
    if actions.shape != space.shape or np.isnan(actions).any():
        ranges = " and ".join(f"{f.name} from {f.low:g} to {f.high:g}" for f in schema.ACTIONS)
        text = " ".join(f"{given!r:.100}".split())
        raise UserError(f"the action is {text}; it must be numbers of shape {space.shape}, in each row {ranges}")
    return actions


def fields_table(fields: tuple[schema.Field, ...]) -> str:
    """Return a Markdown table of inputs or outputs, for documentation."""
    rows = [[str(i), f"`{f.name}`", f.meaning, f"{f.low:g}", f"{f.high:g}"] for i, f in enumerate(fields)]
    return markdown_table(["index", "name", "meaning", "min", "max"], rows)


def _box(fields: tuple[schema.Field, ...]) -> gymnasium.Space[FloatArray]:
    low, high = ([getattr(field, end) for field in fields] for end in ("low", "high"))
    box = spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)
    return cast(gymnasium.Space[FloatArray], box)
