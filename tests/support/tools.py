"""What tests need besides what building needs."""

from __future__ import annotations

import os
import shutil

import pytest


def find_tool(name: str, packages: str = "tests") -> str:
    """Return the path of a program; where it is missing the test fails with the command that installs it."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert path, f"{name} is missing: run `setup/packages.py {packages}`"
    return path


def require(present: object, reason: str) -> None:
    """Skip a test of tests/slow that needs what this machine cannot have; CI has it, and fails there."""
    if not present:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
