"""Writes the network of a search as a rule, the file that export/rule.py reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from omegaconf import OmegaConf
from torch import Tensor

from env.schema import ACTIONS, FEATURES
from export.checkpoint import POLICY_TENSORS
from export.integer.model import Float64

_INPUTS, _OUTPUTS = ([field.name for field in fields] for fields in (FEATURES, ACTIONS))


def rule_text(weights: Mapping[str, Tensor], about: str) -> str:
    """Return the file of the rule with a policy's weights, float32; export.rule.read_rule() returns the same weights.

    Of the two biases of a unit, the rule has the sum.
    """
    w, u, b, b_state, v, c = (weights[name].numpy().astype(np.float64) for name in POLICY_TENSORS)
    units = [
        {
            "bias": float(b[i] + b_state[i]),
            "inputs": _named(w[i], _INPUTS),
            "states": u[i].tolist() if u.any() else [],
            "outputs": _named(v[:, i], _OUTPUTS),
        }
        for i in range(len(b))
    ]
    return OmegaConf.to_yaml({"about": about, "units": units, "bias": _named(c, _OUTPUTS)})


def _named(row: Float64, names: Sequence[str]) -> dict[str, float]:
    return {name: float(weight) for name, weight in zip(names, row, strict=True) if weight}
