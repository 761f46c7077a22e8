"""Differentiable rounding of the policy's weights to the values that the export writes: quantization-aware training.

The derivative of rounding is zero almost everywhere. The straight-through estimator passes the gradient on unchanged
(Bengio et al., "Estimating or propagating gradients through stochastic neurons", 2013; Jacob et al., "Quantization and
training of neural networks for efficient integer-arithmetic-only inference", 2018). The scales follow
export/integer/quantize.py: each row has the largest power of two with which its weights and its bias fit int16.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from export.integer.model import FRAC_MAX
from export.integer.quantize import INT16_MAX


def as_exported(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a policy's state dict with each weight rounded to the value of its int16 number, float32.

    The export rounds the sum of the two biases of the recurrent layer, so `bias_ih_l0` takes the whole change.
    """
    rounded = dict(weights)
    layer = [weights[f"rnn.{name}"] for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")]
    inputs, recurrent, bias = layer
    both = bias + weights["rnn.bias_hh_l0"]
    scale = _scale(inputs, recurrent, both[:, None])
    rounded["rnn.weight_ih_l0"] = inputs + _change(inputs, scale[:, None])
    rounded["rnn.weight_hh_l0"] = recurrent + _change(recurrent, scale[:, None])
    rounded["rnn.bias_ih_l0"] = bias + _change(both, scale)
    readout, offset = weights["readout.weight"], weights["readout.bias"]
    scale = _scale(readout, offset[:, None])
    rounded["readout.weight"] = readout + _change(readout, scale[:, None])
    rounded["readout.bias"] = offset + _change(offset, scale)
    return rounded


@torch.no_grad()
def _scale(*parts: Tensor) -> Tensor:
    """Return the scale 2**fraction_bits of each row, [R]. parts: each [R, any number of columns]."""
    largest = torch.cat(parts, dim=1).double().abs().amax(dim=1)  # [R]
    candidates = torch.exp2(torch.arange(FRAC_MAX + 1, dtype=torch.float64))  # [F]
    fits = torch.floor(largest[:, None] * candidates + 0.5) <= INT16_MAX  # [R, F]
    return candidates[fits.sum(dim=1) - 1]


@torch.no_grad()
def _change(values: Tensor, scale: Tensor) -> Tensor:
    """Return the rounded values minus the values; halves round away from zero."""
    exact = values.double()
    rounded = torch.copysign(torch.floor(exact.abs() * scale + 0.5), exact) / scale
    return (rounded - exact).to(values.dtype)
