"""algo.blind and algo.recurrent: what is taken away stays away, from the first weights to the exported int16 ones."""

from __future__ import annotations

import pytest
import torch

from env.schema import FEATURES
from export import checkpoint
from training.policy import Policy
from training.ppo import Ppo, PpoOptions

NAMES = [feature.name for feature in FEATURES]
BLIND = ["rtt_variation", "rtt_gradient"]
UNSEEN = [NAMES.index(name) for name in BLIND]
SEEN = [i for i in range(len(NAMES)) if i not in UNSEEN]


def made(blind: list[str], recurrent: bool) -> Policy:
    torch.manual_seed(3)
    return Policy(6, blind, recurrent)


def test_other_weights_equal_those_of_full_network() -> None:
    whole, blind, memoryless = made([], True), made(BLIND, True), made([], False)
    assert blind.rnn.weight_ih_l0[:, SEEN].equal(whole.rnn.weight_ih_l0[:, SEEN])
    assert blind.rnn.weight_hh_l0.equal(whole.rnn.weight_hh_l0)
    assert memoryless.rnn.weight_ih_l0.equal(whole.rnn.weight_ih_l0)
    assert not blind.rnn.weight_ih_l0[:, UNSEEN].any()
    assert not memoryless.rnn.weight_hh_l0.any()
    assert whole.state_dict().keys() == blind.state_dict().keys() == set(checkpoint.POLICY_TENSORS)


def test_ablated_weights_get_no_gradient() -> None:
    policy = made(BLIND, False)
    optimizer = torch.optim.Adam(policy.parameters(), 0.1)
    for _ in range(5):
        optimizer.zero_grad()
        means = policy(torch.randn(7, 4, len(NAMES)), torch.randn(4, 6))
        torch.autograd.backward((means - 1).square().mean())
        assert not policy.rnn.weight_ih_l0.grad[:, UNSEEN].any()
        assert not policy.rnn.weight_hh_l0.grad.any()
        assert policy.rnn.weight_ih_l0.grad[:, SEEN].all()
        optimizer.step()
    assert not policy.rnn.weight_ih_l0[:, UNSEEN].any()
    assert not policy.rnn.weight_hh_l0.any()


def test_wrong_inputs_and_foreign_weights_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'rtt_gradent' is unknown: did you mean rtt_gradient\? The inputs are rtt_ratio, entropy"
    ):
        PpoOptions(blind=["rtt_gradent"])
    whole = Ppo(PpoOptions(), 1, 8).state()
    for options in (PpoOptions(blind=BLIND), PpoOptions(recurrent=False)):
        with pytest.raises(ValueError, match="set these options in a new run"):
            Ppo(options, 1, 8).restore(whole)
