"""Adam (Kingma and Ba, 2015) with a learning rate per group of parameters, by PyTorch's function for its step.

The class torch.optim.Adam imports PyTorch's compiler, which adds 1.8 s to the start of every training. Results and the
entries of `state_dict` are those of that class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim.adam import adam

BETA1, BETA2 = 0.9, 0.999  # decay of the first and second moments
EPSILON = 1e-5  # added to the root of the second moment, as in CleanRL's PPO


class _Entry(NamedTuple):
    """A parameter, the running means of its gradient and of the gradient's square, and its number of steps."""

    parameter: Parameter
    exp_avg: Tensor
    exp_avg_sq: Tensor
    step: Tensor


class Adam:
    """Updates groups of parameters by their gradients; a parameter without a gradient keeps its value.

    rates: the learning rate of each group, which may be set before any step.
    """

    def __init__(self, *groups: tuple[Iterable[Parameter], float]) -> None:
        """groups: parameters, and their learning rate."""
        self.rates = [rate for _, rate in groups]
        self._groups = [
            [_Entry(one, torch.zeros_like(one), torch.zeros_like(one), torch.tensor(0.0)) for one in parameters]
            for parameters, _ in groups
        ]

    def zero_grad(self) -> None:
        """Remove the gradients."""
        for entry in self._entries():
            entry.parameter.grad = None

    @torch.no_grad()
    def step(self, gradient_limit: float) -> None:
        """Scale the gradients of each group to a norm of at most `gradient_limit`, then update the parameters."""
        for group, rate in zip(self._groups, self.rates, strict=True):
            torch.nn.utils.clip_grad_norm_([entry.parameter for entry in group], gradient_limit)
            updated = [entry for entry in group if entry.parameter.grad is not None]
            adam(
                [entry.parameter for entry in updated],
                [entry.parameter.grad for entry in updated if entry.parameter.grad is not None],
                [entry.exp_avg for entry in updated],
                [entry.exp_avg_sq for entry in updated],
                [],
                [entry.step for entry in updated],
                fused=True,  # one call for all tensors, which are small
                amsgrad=False,
                maximize=False,
                weight_decay=0.0,
                lr=rate,
                eps=EPSILON,
                beta1=BETA1,
                beta2=BETA2,
            )

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state: moments and steps by the parameter's number, counted over all groups."""
        names = ("exp_avg", "exp_avg_sq", "step")
        state = {
            number: {name: getattr(entry, name).clone() for name in names}
            for number, entry in enumerate(self._entries())
        }
        return {"state": state, "param_groups": [{"lr": rate} for rate in self.rates]}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state_dict`. Raises RuntimeError when a tensor has another shape."""
        self.rates = [group["lr"] for group in saved["param_groups"]]
        for number, entry in enumerate(self._entries()):
            for name, tensor in saved["state"].get(number, {}).items():
                getattr(entry, name).copy_(tensor)

    def _entries(self) -> list[_Entry]:
        return [entry for group in self._groups for entry in group]
