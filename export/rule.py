"""Rules: policies of a few numbers that a person wrote, configs/rules/NAME.yaml. They export like trained ones.

A rule is the policy's network with named weights; docs/reference/file-formats.md specifies the file. Whatever it does
not name is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from omegaconf import MISSING
from torch import Tensor

from env.checkout import CONFIGS
from env.config_errors import read_config
from env.errors import UserError, did_you_mean, suggest
from env.schema import ACTIONS, FEATURES, HIDDEN_MAX
from export.checkpoint import POLICY_TENSORS
from export.integer.model import Float64

FOLDER = CONFIGS / "rules"
SUFFIX = ".yaml"
_INPUTS = [feature.name for feature in FEATURES]
_OUTPUTS = [action.name for action in ACTIONS]


@dataclass
class Unit:
    """One recurrent unit: ``state' = tanh(bias + inputs * x + states * state)``.

    inputs, outputs: weight by name of the input or output (env/schema.py). states: weight of each unit's last state, in
    the order of the units.
    """

    bias: float = 0.0
    inputs: dict[str, float] = field(default_factory=dict)
    states: list[float] = field(default_factory=list)
    outputs: dict[str, float] = field(default_factory=dict)


@dataclass
class Rule:
    """The keys of configs/rules/NAME.yaml. about: what the rule does. bias: that of each output, by its name."""

    about: str = MISSING
    units: list[Unit] = field(default_factory=list)
    bias: dict[str, float] = field(default_factory=dict)


def rule_names() -> list[str]:
    """Return the rules of the checkout, as rules/NAME.yaml, sorted."""
    return sorted(str(file.relative_to(CONFIGS)) for file in FOLDER.glob(f"*{SUFFIX}"))


def find_rule(name: str) -> Path:
    """Return the file of a rule: rules/NAME.yaml or a path. Raises UserError, which names similar rules."""
    for file in (Path(name), CONFIGS / name):
        if file.is_file():
            return file
    known = rule_names()
    hint = did_you_mean(name, known, limit=1) or f"there are {', '.join(known)}"
    raise UserError(f"there is no rule {name!r}; {hint.strip()}")


def read_rule(file: Path) -> dict[str, Tensor]:
    """Return a rule's weights as a policy's state dict, float32.

    Raises UserError: no YAML, an unknown key, input or output, a wrong type, too many units or states.
    """
    rule = read_config(Rule, file)
    return _weights(rule, str(file))


def _weights(rule: Rule, origin: str) -> dict[str, Tensor]:
    hidden = len(rule.units)
    if not 1 <= hidden <= HIDDEN_MAX:
        raise UserError(f"{origin}: it has {hidden} units; a rule has 1 to {HIDDEN_MAX}")
    w, u, v = np.zeros((hidden, len(_INPUTS))), np.zeros((hidden, hidden)), np.zeros((len(_OUTPUTS), hidden))
    for i, unit in enumerate(rule.units):
        where = f"{origin}: units[{i}]"
        w[i] = _row(unit.inputs, _INPUTS, f"{where}.inputs")
        v[:, i] = _row(unit.outputs, _OUTPUTS, f"{where}.outputs")
        if unit.states and len(unit.states) != hidden:
            raise UserError(f"{where}.states has {len(unit.states)} numbers; it needs one per unit, {hidden}")
        u[i] = unit.states or 0.0
    biases = np.array([unit.bias for unit in rule.units])
    arrays = (w, u, biases, np.zeros(hidden), v, _row(rule.bias, _OUTPUTS, f"{origin}: bias"))
    if not all(np.isfinite(array).all() for array in arrays):
        raise UserError(f"{origin}: a weight is infinite or no number")
    return {name: torch.tensor(array, dtype=torch.float32) for name, array in zip(POLICY_TENSORS, arrays, strict=True)}


def _row(weights: Mapping[str, float], names: Sequence[str], where: str) -> Float64:
    for name in weights:
        if name not in names:
            raise UserError(
                f"{where} has {name!r}{suggest(name, list(names), limit=1)}It is one of {', '.join(names)}."
            )
    return np.array([weights.get(name, 0.0) for name in names])
