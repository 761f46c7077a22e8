"""What the Makefile builds for a second lab kernel. The commands are printed, not run."""

from __future__ import annotations

import subprocess

import pytest

from env.checkout import ROOT

CHANGED = ("--what-if=kernel/lab/uml/lab.config",)


def commands(*arguments: str) -> list[str]:
    program = ["make", "--dry-run", *arguments]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_named_kernel_gets_its_modules_in_the_call_that_builds_it() -> None:
    printed = commands("lab-kernel", "module", "KERNEL=other", "KERNEL_SRC=/tree")
    steps = [line.split()[-1] for line in printed if "build.py" in line or "build.sh" in line]
    assert steps[0] == "other"
    assert "build/lab-kernels/other/tree" in steps


def test_a_named_kernels_source_is_not_the_source_of_the_labs_own() -> None:
    assert "/usr/bin/python3 kernel/lab/uml/build.py" in commands("module", "KERNEL_SRC=/tree", *CHANGED)
    own = [
        line
        for line in commands("lab-kernel", "module", "sanitizer", "KERNEL=other", "KERNEL_SRC=/tree", *CHANGED)
        if "kernel/lab/uml/build.py" in line and "--name" not in line
    ]
    assert own
    assert all(line.startswith("KERNEL_SRC= ") for line in own)


@pytest.mark.parametrize("file", ["build.py", "cc.sh", "lab_headers.h", "lab.config"])
def test_whatever_decides_the_lab_kernel_calls_its_build(file: str) -> None:
    assert "/usr/bin/python3 kernel/lab/uml/build.py" in commands("module", f"--what-if=kernel/lab/uml/{file}")
