"""Float against int16: both sides meet the same network, so that what differs is the arithmetic alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from compare.studies.precision import (
    Decide,
    Played,
    Row,
    float_policy,
    main,
    play_in_kernel,
    play_through_gymnasium,
    table,
)
from env.episode import boot_lab
from env.ndm_env import NdmEnv
from env.profile import load_profile
from export import reference
from export.model_file import model_file
from export.quantize import FloatPolicy, quantize
from training.policy import initial_policy


def test_the_table_has_means_and_the_largest_difference_of_any_seed() -> None:
    rows = [
        Row("a", [Played(10, 1, 0.5), Played(12, 3, 0.7)], [Played(10, 1, 0.5), Played(11, 7, 0.6)]),
        Row("b", [Played(1, 1, 0.5)], [Played(3, 1, 0.25)]),
    ]
    assert table(rows).splitlines()[2:] == [
        "| a | 11.00 | 10.50 | 1.00 | 2.00 | 4.00 | 4.00 | 0.6000 | 0.5500 | 0.1000 |",
        "| b | 1.00 | 3.00 | 2.00 | 1.00 | 1.00 | 0.00 | 0.5000 | 0.2500 | 0.2500 |",
        "| **largest** |  |  | 2.00 |  |  | 4.00 |  |  | 0.2500 |",
    ]


def test_wrong_words_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(tmp_path / "nix")]) == 1
    assert "precision: there is no run" in capsys.readouterr().err


@pytest.mark.lab
@pytest.mark.timeout(900)
def test_int16_on_the_host_is_int16_in_the_kernel_and_float_is_close() -> None:
    """Jitter, loss and reordering: were the seeds, the episodes or the judges different, the first could not hold."""
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
            kernel = play_in_kernel(lab, env, file, scenario, 3)
            assert play_through_gymnasium(env, in_int16(), scenario, 3) == pytest.approx(kernel, rel=1e-6), scenario
            in_float = play_through_gymnasium(env, float_policy(weights), scenario, 3)
            assert in_float.goodput_mbps == pytest.approx(kernel.goodput_mbps, rel=0.2)
        assert play_in_kernel(lab, env, file, "stress", 4) != kernel, "another seed is another run"
    finally:
        env.close()
        lab.close()
