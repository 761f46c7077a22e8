"""A new policy keeps the initial window, in the kernel's arithmetic."""

from __future__ import annotations

import numpy as np

from tests.support.kernel.native import Native
from tests.support.training.toys import PolicyRunner
from training.policy import INITIAL_ACTION, OBSERVATION_SIZE, Policy


def test_new_policy_keeps_the_initial_window() -> None:
    runner = PolicyRunner(Policy().state_dict())
    means, _ = runner(np.full((1, OBSERVATION_SIZE), 8, np.float32), runner.initial_state(1))
    assert np.abs(means - INITIAL_ACTION).max() < 0.05
    cwnd_fp = np.full(1, 10 << 8, np.uint32)
    for _ in range(300):
        cwnd_fp = Native().next_cwnd(cwnd_fp, np.full(1, round(INITIAL_ACTION[0] * 2**14), np.int16)).astype(np.uint32)
    assert 9.5 < cwnd_fp[0] / 256 < 10.5, "packets"
