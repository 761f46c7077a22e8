"""train.py from the command line: errors are one paragraph, and a start imports no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.commands import train


@pytest.mark.parametrize("arguments", [["algo.gamma=2", "profile=bottleneck"], ["resume=runs/none"]])
def test_command_ends_with_one_paragraph(arguments: list[str]) -> None:
    output, errors = train(*arguments, status=1)
    assert errors.startswith("train.py: ")
    assert len(errors.strip().splitlines()) == 1
    assert output == ""


def test_ppo_does_not_import_the_compiler() -> None:
    program = "from training.ppo import Ppo, PpoOptions; Ppo(PpoOptions(), 1, 8); import sys; sys.exit(%s)"
    subprocess.run([sys.executable, "-c", program % "'torch._dynamo' in sys.modules"], check=True)
