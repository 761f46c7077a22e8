"""The overflow proof of the model that the module is built with, and what its certificates say of the kernel's code."""

from __future__ import annotations

import numpy as np
import pytest

from export.checks.certificate import SMALLEST_GROWS
from export.checks.proof import prove
from export.selection import kernel_file, selected
from export.verify_model import main
from tests.support.kernel.native import Native


def test_command_proves_the_shipped_model_and_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    model, _ = Native().shipped()
    assert f"{prove(model).accumulator:,}" in capsys.readouterr().out
    header = kernel_file(f"models/{selected()}.h").read_text()
    assert f"_Static_assert({prove(model).accumulator}LL < 1LL << 62" in header
    assert main(["no/such/run"]) == 1


def test_windows_below_three_packets_grow_from_the_certified_action_on() -> None:
    actions = np.arange(-1 << 14, (1 << 14) + 1, dtype=np.int16)
    least = []
    for window in range(2 << 8, 3 << 8):
        grows = Native().next_cwnd(np.full(len(actions), window, np.uint32), actions) > window
        assert grows.tolist() == sorted(grows.tolist()), "a larger action grows too"
        least.append(int(actions[grows].min()))
    assert max(least) == SMALLEST_GROWS
