"""Weights of quantization-aware training are those that the export makes, and have a gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from export.integer.model import IntegerModel
from export.integer.quantize import FloatPolicy, quantize
from training.policy import Policy, initial_policy
from training.rounding import as_exported


def policy(seed: int, size: float) -> Policy:
    torch.manual_seed(seed)
    network = initial_policy(16, seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(0, size)
    return network


def value(model: IntegerModel) -> dict[str, np.ndarray]:
    """What the integers stand for."""
    row, out = (np.exp2(-np.array(fracs, float)) for fracs in (model.row_frac, model.out_frac))
    return {
        "rnn.weight_ih_l0": model.w * row[:, None],
        "rnn.weight_hh_l0": model.u * row[:, None],
        "readout.weight": model.v * out[:, None],
        "readout.bias": model.c * out,
    }


@pytest.mark.parametrize("size", [1e-4, 0.01, 0.5, 7.0])
def test_it_is_what_the_export_makes(size: float) -> None:
    state = policy(3, size).state_dict()
    model = quantize(FloatPolicy.from_state_dict(state))
    rounded = as_exported(state)
    for name, expected in value(model).items():
        assert rounded[name].numpy() == pytest.approx(expected, abs=np.abs(expected).max() * 1e-7), name
    bias = (rounded["rnn.bias_ih_l0"] + rounded["rnn.bias_hh_l0"]).numpy()
    expected = model.b * np.exp2(-np.array(model.row_frac, float))
    assert bias == pytest.approx(expected, abs=1e-6 * max(1.0, np.abs(expected).max()))
    assert any(not torch.equal(rounded[name], state[name]) for name in value(model))


def test_the_gradient_passes() -> None:
    network = policy(1, 0.3)
    rounded = as_exported(dict(network.named_parameters()))
    sum(weight.square().sum() for weight in rounded.values()).backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad == pytest.approx(2 * rounded[name].detach(), rel=1e-4), name


def test_rounding_twice_is_rounding_once() -> None:
    once = as_exported(policy(2, 0.3).state_dict())
    twice = as_exported(once)
    assert all(torch.allclose(once[name], twice[name], atol=1e-7) for name in once)
