"""The precision study: the float policy and the int16 policy, in the kernel and through Gymnasium."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from env.gym.episode import boot_lab
from env.gym.ndm_env import NdmEnv
from env.profile import load_profile
from export.formats.model_file import model_file
from export.integer import reference
from export.integer.quantize import FloatPolicy, quantize
from studies.learning.precision import Decide, float_policy, run_in_kernel, run_on_host
from training.policy import initial_policy


@pytest.mark.timeout(900)
def test_host_int16_equals_kernel_and_float_is_close() -> None:
    """With jitter, loss and reordering, int16 results agree only if seeds, episodes and metrics are the same."""
    policy = initial_policy(8, 1)
    weights = policy.state_dict()
    model = quantize(FloatPolicy.from_state_dict(weights))

    def in_int16() -> Decide:
        state = np.zeros((1, model.hidden), np.int16)

        def decide(observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
            nonlocal state
            state, outputs = reference.step(model, state, np.rint(observation * 4096).astype(np.int16)[None])
            return outputs[0].astype(np.float32) / 16384

        return decide

    env, lab = NdmEnv(load_profile("bottleneck"), episode_decisions=60), boot_lab(1)
    file, _ = model_file(weights, "m", "bottleneck")
    try:
        for scenario in ("bottleneck", "stress"):
            kernel = run_in_kernel(lab, env, file, scenario, 3)
            assert run_on_host(env, in_int16(), scenario, 3) == pytest.approx(kernel, rel=1e-6), scenario
            in_float = run_on_host(env, float_policy(weights), scenario, 3)
            assert in_float.goodput_mbps == pytest.approx(kernel.goodput_mbps, rel=0.2)
        assert run_in_kernel(lab, env, file, "stress", 4) != kernel, "another seed is another run"
    finally:
        env.close()
        lab.close()
