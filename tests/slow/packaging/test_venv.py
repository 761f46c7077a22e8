"""`make setup`: what the virtual environment prints and has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from env.checkout import ROOT

INSIDE = {"MAKEFLAGS", "MAKELEVEL", "NDM_PYTHON", "PYTHONPATH"}  # of a make or test around this one


def test_venv_prints_nothing_of_pip_and_finds_the_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "setup", tree / "setup")
    shutil.copy(ROOT / "Makefile", tree)
    (tree / "requirements.txt").touch()
    (tree / "mine.py").touch()
    inherited = {name: value for name, value in os.environ.items() if name not in INSIDE}
    command = ["make", "--environment-overrides", ".venv/installed"]
    done = subprocess.run(command, cwd=tree, env=inherited | {"IMPORTED": "sys"}, capture_output=True, text=True)
    assert done.stdout == "setup: .venv with the packages of requirements.txt\n"
    assert (done.stderr, done.returncode) == ("", 0)
    python = tree / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", "import mine"], cwd="/", env=inherited).returncode == 0
