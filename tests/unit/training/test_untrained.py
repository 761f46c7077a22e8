"""The untrained model is the one that training begins with."""

from __future__ import annotations

import torch
from hydra import compose, initialize_config_dir

from env.checkout import CONFIGS
from export.checkpoint import policy_sha256
from export.formats.header import render_header
from training.config import read_config
from training.policy import initial_policy
from training.ppo import Ppo
from training.untrained import UNTRAINED_UNITS, build_untrained


def test_untrained_model_has_a_new_learners_weights() -> None:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        options = read_config(compose("train")).algo
    learner = Ppo(options, seed=5, privileged=8)
    exported = build_untrained(5)
    assert exported.provenance.sha256 == policy_sha256(learner.policy.state_dict())
    assert exported.model.hidden == options.hidden == UNTRAINED_UNITS
    assert exported.provenance.decisions == 0


def test_the_seed_decides_and_nothing_else_is_touched() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    texts = {seed: render_header((e := build_untrained(seed)).model, e.provenance) for seed in (1, 2)}
    assert torch.equal(torch.rand(4), expected)
    again = build_untrained(1)
    assert render_header(again.model, again.provenance) == texts[1] != texts[2]
    assert policy_sha256(initial_policy(8, 1).state_dict()) != policy_sha256(initial_policy(8, 2).state_dict())
