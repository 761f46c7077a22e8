"""docs/tutorial.md: every command runs, in a copy of the checkout, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from env.checkout import ROOT

PAGE = ROOT / "docs" / "tutorial.md"
NUMBER = re.compile(r"\*?\b[\d,.]*\d\b|\b[0-9a-f]{64}\b")
# The kernel's congestion controls do not depend on what was trained: the page has their figures to the last digit.
REPEATABLE = re.compile(r"\s+(cubic|bbr) ")


class Example(NamedTuple):
    """A command, or a Python program, and the output that the page shows."""

    program: list[str]
    output: str


def examples() -> Iterator[Example]:
    """The console and Python blocks of the page, in order. The set-up block, `sh`, is not one: it is done already."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for index, (language, text) in enumerate(blocks):
        if language == "console":
            for command, output in re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", text, re.MULTILINE | re.DOTALL):
                yield Example(["bash", "-c", command], output)
        elif language == "python":
            yield Example([sys.executable, "-c", text], blocks[index + 1][1])


def shape(line: str) -> str:
    """A line without its numbers and its spacing, which differ from machine to machine and from model to model."""
    return re.sub(r"[\s─━-]+", " ", NUMBER.sub("0", line)).strip()


def environment(checkout: Path) -> dict[str, str]:
    """The environment of a user's shell in the checkout: the tests' own model folder is not in it."""
    outside = {name: value for name, value in os.environ.items() if name != "NDM_MODEL_BUILD"}
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    return outside | {"PATH": path, "PYTHONPATH": str(checkout), "COLUMNS": "120"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout, with the built lab kernel and the Python packages of this one."""
    copy = tmp_path / "checkout"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.splitlines()):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / ".venv").symlink_to((ROOT / ".venv").resolve())
    (copy / "build").mkdir()
    (copy / "build" / "lab-kernel").symlink_to((ROOT / "build" / "lab-kernel").resolve())
    subprocess.run(["make", "module"], cwd=copy, env=environment(copy), check=True, capture_output=True)
    return copy


@pytest.mark.timeout(900)
def test_every_command_prints_what_the_page_shows(checkout: Path) -> None:
    for program, output in examples():
        result = subprocess.run(
            program, cwd=checkout, env=environment(checkout), capture_output=True, text=True, timeout=600
        )
        assert result.returncode == 0, f"{program}\n{result.stderr}"
        printed = iter(result.stdout.splitlines())
        for line in output.splitlines():
            if line == "...":
                continue
            found = next((other for other in printed if shape(other) == shape(line)), None)
            assert found is not None, f"{program}: no line such as {line!r} in\n{result.stdout}"
            if REPEATABLE.match(line):
                assert found.replace("*", "").split() == line.replace("*", "").split()  # stars are beside the model
