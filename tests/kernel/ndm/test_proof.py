"""The overflow proof of the model that the module is built with."""

from __future__ import annotations

import pytest

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
