"""Converts a float policy to an integer model: int16 weights with one power-of-two scale per row.

A row of (W, U, b) or of (V, c) gets the largest number of fraction bits, at most 22, with which its largest weight fits
int16. A power-of-two scale makes scaling back a shift. LiteFlow's fixed-point layers work in the same way, but have one
scale per network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from env import schema
from env.errors import UserError
from export.checkpoint import POLICY_TENSORS
from export.integer.model import FRAC_MAX, INPUTS, OUTPUTS, Float64, Int16, IntegerModel

INT16_MAX = 32767


@dataclass(frozen=True)
class FloatPolicy:
    """Weights of ``torch.nn.RNN(I, H, nonlinearity="tanh")`` and its linear read-out, in float64.

    Only the sum of the RNN's two biases matters, so they are one vector.
    """

    w: Float64  # (H, I)
    u: Float64  # (H, H)
    b: Float64  # (H)
    v: Float64  # (O, H)
    c: Float64  # (O)

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> FloatPolicy:
        """Read a policy's state dict.

        Raises UserError for a missing or unknown name, a shape that does not fit, NaN or infinity.
        """
        if set(state) != set(POLICY_TENSORS):
            raise UserError(f"the policy has the tensors {sorted(state)}; it must have {sorted(POLICY_TENSORS)}")
        arrays = {name: np.asarray(state[name], dtype=np.float64) for name in POLICY_TENSORS}
        first = arrays["rnn.weight_ih_l0"].shape
        if len(first) != 2 or first[1] != INPUTS:
            raise UserError(
                f"rnn.weight_ih_l0 must be (hidden, {INPUTS}): the schema has {INPUTS} inputs; it is {first}"
            )
        hidden = int(first[0])
        if not 1 <= hidden <= schema.HIDDEN_MAX:
            raise UserError(f"the policy has {hidden} hidden units; the kernel has room for 1 to {schema.HIDDEN_MAX}")
        shapes = ((hidden, INPUTS), (hidden, hidden), (hidden,), (hidden,), (OUTPUTS, hidden), (OUTPUTS,))
        for name, shape in zip(POLICY_TENSORS, shapes, strict=True):
            if arrays[name].shape != shape:
                raise UserError(f"{name} must be of shape {shape}, not {arrays[name].shape}")
            if not np.isfinite(arrays[name]).all():
                bad = arrays[name][~np.isfinite(arrays[name])]
                raise UserError(
                    f"{name} holds {bad.size} of {arrays[name].size} weights that are not finite (first: {bad[0]}): "
                    f"the training diverged"
                )
        w, u, b_ih, b_hh, v, c = arrays.values()
        return cls(w=w, u=u, b=b_ih + b_hh, v=v, c=c)

    @property
    def hidden(self) -> int:
        """H, the number of recurrent units."""
        return len(self.b)

    def step(self, h: Float64, x: Float64) -> tuple[Float64, Float64]:
        """One step over a batch of N: h (N, H), x (N, I) -> next h (N, H), outputs (N, O) clamped to [-1, 1]."""
        following: Float64 = np.tanh(x @ self.w.T + h @ self.u.T + self.b)
        outputs: Float64 = np.clip(following @ self.v.T + self.c, -1.0, 1.0)
        return following, outputs


def _fraction_bits(rows: list[Float64], what: str) -> tuple[int, ...]:
    """Return for each row the largest number of fraction bits with which all its weights fit int16."""
    largest = np.max([np.abs(part.reshape(len(part), -1)).max(axis=1) for part in rows], axis=0)
    fracs = []
    for r, size in enumerate(largest):
        fitting = [f for f in range(FRAC_MAX + 1) if np.floor(size * 2.0**f + 0.5) <= INT16_MAX]
        if not fitting:
            raise UserError(f"{what} {r} has a weight of magnitude {size:.6g}; the largest int16 is {INT16_MAX}")
        fracs.append(fitting[-1])
    return tuple(fracs)


def _round(weights: Float64, fracs: tuple[int, ...]) -> Int16:
    scales = np.exp2(np.array(fracs, dtype=np.float64)).reshape(-1, *[1] * (weights.ndim - 1))
    # halves round away from zero, so the largest magnitude bounds both signs
    return np.asarray(np.copysign(np.floor(np.abs(weights) * scales + 0.5), weights), dtype=np.int16)


def quantize(policy: FloatPolicy) -> IntegerModel:
    """Return the integer model nearest to the policy. Raises UserError if a weight does not fit int16."""
    row_frac = _fraction_bits([policy.w, policy.u, policy.b], "hidden unit")
    out_frac = _fraction_bits([policy.v, policy.c], "output")
    return IntegerModel(
        row_frac=row_frac,
        out_frac=out_frac,
        w=_round(policy.w, row_frac),
        u=_round(policy.u, row_frac),
        b=_round(policy.b, row_frac),
        v=_round(policy.v, out_frac),
        c=_round(policy.c, out_frac),
    )
