"""The integer network in NumPy: the reference for kernel/ndm/ndm_core.h and for recorded decisions.

Letters: N independent connections, T steps, H hidden units, I inputs, O outputs. The arithmetic is specified bit by bit
in docs/reference/kernel-interface.md. Sums are int64; none exceeds 2**37 (bound in kernel/ndm/ndm_core.h).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from env import schema
from export.integer import tables
from export.integer.model import OUTPUTS, Int16, Int64, IntegerModel

_TANH = np.array([*tables.TANH, tables.TANH[-1]], dtype=np.int64)  # the last entry is multiplied by zero
_EXP2 = np.array([*tables.EXP2, tables.EXP2[-1]], dtype=np.int64)


def _shift_round(values: Int64, bits: Int64 | np.int64) -> Int64:
    """Divide by 2**bits and round, halves up; bits broadcasts against values."""
    half = (np.int64(1) << bits) >> np.int64(1)
    shifted: Int64 = (values + half) >> bits
    return shifted


def tanh(x: NDArray[np.int32] | Int64) -> Int16:
    """Return tanh of x, both with 15 fraction bits, |x| clamped to 8; any shape. Worst error 1.54 * 2**-15."""
    shift = np.int64(15 - tables.TANH_STEPS_LOG2)
    magnitude = np.minimum(np.abs(x.astype(np.int64)), tables.TANH_LIMIT << 15)
    i, fraction = magnitude >> shift, magnitude & ((1 << shift) - 1)
    y = _TANH[i] + _shift_round((_TANH[i + 1] - _TANH[i]) * fraction, shift)
    signed: Int16 = np.where(x < 0, -y, y).astype(np.int16)
    return signed


def exp2(x: Int16) -> NDArray[np.uint32]:
    """Return 2**x with 16 fraction bits; x has 14, clamped to [-1, 1]; any shape. Worst error 1.34 * 2**-16."""
    shift = np.int64(14 - tables.EXP2_STEPS_LOG2)
    clamped = np.clip(x.astype(np.int64), -(1 << 14), 1 << 14)
    part = clamped & ((1 << 14) - 1)
    i, fraction = part >> shift, part & ((1 << shift) - 1)
    y = _EXP2[i] + _shift_round((_EXP2[i + 1] - _EXP2[i]) * fraction, shift)
    scaled = np.where(clamped < 0, (y + 1) >> 1, np.where(clamped == 1 << 14, 2 * y, y))
    factor: NDArray[np.uint32] = scaled.astype(np.uint32)
    return factor


def next_state(model: IntegerModel, acc: Int64) -> Int16:
    """Return the state (N, H) that follows from the weighted sums of inputs and state (N, H), without the bias."""
    limit = tables.TANH_LIMIT << schema.HIDDEN_FRAC
    biased = acc + (model.b.astype(np.int64) << schema.HIDDEN_FRAC)
    return tanh(np.clip(_shift_round(biased, np.array(model.row_frac, dtype=np.int64)), -limit, limit))


def outputs(model: IntegerModel, acc: Int64) -> Int16:
    """Return the outputs (N, O) of the weighted sums of a state (N, O), without the bias."""
    one = 1 << schema.ACTION_FRAC
    shift = np.array(model.out_frac, dtype=np.int64) + (schema.HIDDEN_FRAC - schema.ACTION_FRAC)
    biased = acc + (model.c.astype(np.int64) << schema.HIDDEN_FRAC)
    return np.clip(_shift_round(biased, shift), -one, one).astype(np.int16)


def step(model: IntegerModel, h: Int16, x: Int16) -> tuple[Int16, Int16]:
    """One decision of N connections: h (N, H) Q15, x (N, I) Q12 -> next h (N, H) Q15, outputs (N, O) Q14."""
    acc = x.astype(np.int64) @ model.w.T.astype(np.int64) << np.int64(schema.HIDDEN_FRAC - schema.FEATURE_FRAC)
    following = next_state(model, acc + h.astype(np.int64) @ model.u.T.astype(np.int64))
    return following, outputs(model, following.astype(np.int64) @ model.v.T.astype(np.int64))


def rollout(model: IntegerModel, x: Int16, h: Int16 | None = None) -> tuple[Int16, Int16]:
    """T decisions of one connection: x (T, I) -> outputs (T, O) and the last state (H); h (H) starts at zero."""
    state = (np.zeros(model.hidden, np.int16) if h is None else h)[None, :]  # (1, H)
    taken = np.empty((len(x), OUTPUTS), np.int16)
    for t, inputs in enumerate(x):
        state, taken[t : t + 1] = step(model, state, inputs[None, :])
    return taken, state[0]
