"""What tests need besides what building needs, and C that they compile for user space."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from env.checkout import KERNEL

LIBRARY_SOURCES = Path(__file__).resolve().parent / "kernel" / "library"
KERNEL_HEADERS = (f"-I{KERNEL / 'user' / 'include'}", f"-I{KERNEL}", "-Wno-sign-compare")
SANITIZER = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")


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


def compile_c(output: Path, *arguments: str | Path, compiler: str = "cc") -> Path:
    """Compile sources without a warning; arguments: the sources, and options that come after the usual ones."""
    usual = [compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*usual, *arguments, "-o", output], check=True)
    return output


def compile_library(source: Path, folder: Path, *options: str) -> Path:
    """Compile a source into a shared library in the folder."""
    return compile_c(folder / f"lib{source.stem}.so", source, "-shared", "-fPIC", *options)


def compile_kernel(name: str, folder: Path) -> Path:
    """Compile a file of LIBRARY_SOURCES with the undefined-behaviour sanitizer, which ends a process that overflows."""
    return compile_library(LIBRARY_SOURCES / name, folder, *SANITIZER, *KERNEL_HEADERS)
