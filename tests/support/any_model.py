"""Integer models for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from env import schema
from export.integer.model import FRAC_MAX, INPUTS, OUTPUTS, IntegerModel


@st.composite
def models(draw: st.DrawFn) -> IntegerModel:
    """Any model: every size, every scale, numbers from everywhere or from the ends of int16."""
    hidden = draw(st.integers(1, schema.HIDDEN_MAX))
    # whole arrays from a seed: hypothesis chooses the kind, numpy the numbers
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ends = draw(st.booleans())

    def numbers(*shape: int) -> np.ndarray:
        if ends:
            return rng.choice(np.array([-32768, -32767, 0, 1, 32767], np.int16), shape)
        return rng.integers(-32768, 32768, shape).astype(np.int16)

    frac = st.integers(0, FRAC_MAX)
    return IntegerModel(
        row_frac=tuple(draw(st.lists(frac, min_size=hidden, max_size=hidden))),
        out_frac=tuple(draw(st.lists(frac, min_size=OUTPUTS, max_size=OUTPUTS))),
        w=numbers(hidden, INPUTS),
        u=numbers(hidden, hidden),
        b=numbers(hidden),
        v=numbers(OUTPUTS, hidden),
        c=numbers(OUTPUTS),
    )
