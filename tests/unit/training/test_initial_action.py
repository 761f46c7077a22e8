"""A new policy's action is the initial one, whatever its inputs are."""

from __future__ import annotations

import numpy as np

from tests.support.training.toys import PolicyRunner
from training.policy import INITIAL_ACTION, OBSERVATION_SIZE, Policy


def test_new_policy_has_the_initial_action() -> None:
    runner = PolicyRunner(Policy().state_dict())
    means, _ = runner(np.full((1, OBSERVATION_SIZE), 8, np.float32), runner.initial_state(1))
    assert np.abs(means - INITIAL_ACTION).max() < 0.05
