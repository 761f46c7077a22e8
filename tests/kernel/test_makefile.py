"""What the Makefile checks before it builds or installs anything, and what two makes at once do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from env.checkout import ROOT

INSIDE = {"MAKEFLAGS", "MAKELEVEL", "NDM_PYTHON", "PYTHONPATH"}  # of a make or test around this one


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree in which nothing is installed."""
    return copy_to(tmp_path / "tree")


def copy_to(folder: Path) -> Path:
    for name in ("setup", "kernel/models"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "requirements.txt").touch()
    return folder


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in INSIDE}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, env=inherited | environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("MODELS=mixed fibre", "MODELS= is unknown: did you mean MODEL? "),
        ("MODEL=mixed fibre", 'there is no model "fibre": '),
        ("MODEL=mxied", 'there is no model "mxied": did you mean mixed? '),
        ("nosuch=1", "nosuch= is unknown: The variables are "),
    ],
)
def test_wrong_value_is_refused_before_anything(tree: Path, argument: str, message: str) -> None:
    done = make(tree, "setup", "module", argument)
    assert f"*** {message}" in done.stderr
    assert (done.stdout, done.stderr.count("\n"), done.returncode) == ("", 1, 2)
    assert not (tree / ".venv").exists()


@pytest.mark.parametrize("name", ["two words", "a:b", "it's", "(1)", "50%", "tab\there"])
def test_folder_that_make_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    done = make(copy_to(tmp_path / name), "setup")
    assert f'"{tmp_path / name}" has a space or a sign that make cannot have' in done.stderr
    assert (done.stdout, done.stderr.count("\n"), done.returncode) == ("", 1, 2)


@pytest.mark.parametrize("name", ["Bücher", "名前", "v1.0+x@~-_"])
def test_other_letters_are_no_obstacle(tmp_path: Path, name: str) -> None:
    done = make(copy_to(tmp_path / name), "--dry-run", ".venv/installed")
    assert done.returncode == 0, done.stderr


def test_setup_installs_what_tests_need(tree: Path) -> None:
    assert "--requirement setup/requirements/dev.txt" in make(tree, "--dry-run", "setup").stdout


def test_name_with_a_space_is_one_argument(tree: Path) -> None:
    assert '--name "my model"' in make(tree, "--dry-run", "export-weights", "NAME=my model").stdout


def test_host_is_checked_before_packages() -> None:
    done = make(ROOT, "-C", "packaging", "host", "HOST=jessie")
    assert "'jessie' is no distribution: bookworm (Debian 12)" in done.stderr
    assert "setup:" not in done.stdout + done.stderr


def test_docs_version_is_checked_before_packages(tree: Path) -> None:
    shutil.copytree(ROOT / "packaging", tree / "packaging")
    done = make(tree, "-C", "packaging", "docs-version")
    assert "VERSION is not set" in done.stderr
    assert not (tree / ".venv").exists()


def test_two_builds_of_modules_wait_for_each_other(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    kernel.mkdir()
    (kernel / "Makefile").write_text("modules:\n\tmkdir $(M)/busy && sleep 1 && rmdir $(M)/busy\n")
    command = [ROOT / "kernel" / "build.sh", tmp_path / "out", kernel]
    builds = [subprocess.Popen(command) for _ in range(2)]
    assert [build.wait() for build in builds] == [0, 0]
