"""The overflow proof of the model that the module is built with, and what its certificates say of the kernel's code."""

from __future__ import annotations

import numpy as np
import pytest

from export.checks.certificate import SMALLEST_GROWS
from export.checks.proof import prove
from export.integer.native import Native
from export.selection import header_of, selected
from export.verify_model import main


def test_command_proves_the_shipped_model_and_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    model, _ = Native().shipped()
    assert f"{prove(model).accumulator:,}" in capsys.readouterr().out
    assert f"_Static_assert({prove(model).accumulator}LL < 1LL << 62" in header_of(selected()[0]).read_text()
    assert main(["no/such/run"]) == 1


def test_smallest_window_grows_from_the_certified_action_on() -> None:
    smallest = 2 << 8
    actions = np.arange(-1 << 14, (1 << 14) + 1, dtype=np.int16)
    windows = Native().next_cwnd(np.full(len(actions), smallest, np.uint32), actions)
    assert actions[windows > smallest].tolist() == list(range(SMALLEST_GROWS, (1 << 14) + 1))
