"""Adam: the same updates as PyTorch's class, without its import of the compiler."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from training.adam import EPSILON, Adam

LIMIT = 0.05  # of the gradient's norm; most gradients below are longer


def networks() -> list[nn.Linear]:
    torch.manual_seed(1)
    return [nn.Linear(5, 3), nn.Linear(5, 2)]


def gradients(parts: list[nn.Linear], step: int) -> None:
    """Set the gradients of one step; the second network has none in the first steps."""
    torch.manual_seed(step)
    for part in parts[: 1 if step < 3 else 2]:
        part(torch.randn(4, 5)).square().mean().backward()


def weights(parts: list[nn.Linear]) -> torch.Tensor:
    return torch.cat([one.detach().flatten() for part in parts for one in part.parameters()])


def test_equals_the_class_of_pytorch() -> None:
    parts, expected = networks(), networks()
    ours = Adam((parts[0].parameters(), 3e-3), (parts[1].parameters(), 1e-3))
    groups = [{"params": list(expected[0].parameters()), "lr": 3e-3}]
    groups += [{"params": list(expected[1].parameters()), "lr": 1e-3}]
    theirs = torch.optim.Adam(groups, eps=EPSILON, fused=True)
    for step in range(20):
        ours.zero_grad()
        gradients(parts, step)
        theirs.zero_grad()
        gradients(expected, step)
        for group in groups:
            nn.utils.clip_grad_norm_(group["params"], LIMIT)
        ours.rates[0] = theirs.param_groups[0]["lr"] = 3e-3 * (1 - step / 20)
        ours.step(LIMIT)
        theirs.step()
        assert weights(parts).equal(weights(expected)), step
    assert not weights(parts).equal(weights(networks()))


def test_continues_from_its_state() -> None:
    whole, parts = networks(), networks()
    one = Adam((whole[0].parameters(), 3e-3), (whole[1].parameters(), 1e-3))
    two = Adam((parts[0].parameters(), 3e-3), (parts[1].parameters(), 1e-3))
    for step in range(10):
        if step == 6:
            resumed = Adam((parts[0].parameters(), 9.0), (parts[1].parameters(), 9.0))
            resumed.load_state_dict(two.state_dict())
            two = resumed
        for optimizer, networks_ in ((one, whole), (two, parts)):
            optimizer.zero_grad()
            gradients(networks_, step)
            optimizer.step(LIMIT)
        assert weights(whole).equal(weights(parts)), step


def test_state_of_other_shapes_is_refused() -> None:
    saved = Adam((nn.Linear(5, 3).parameters(), 1e-3)).state_dict()
    with pytest.raises(RuntimeError):
        Adam((nn.Linear(5, 2).parameters(), 1e-3)).load_state_dict(saved)
