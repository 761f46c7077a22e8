"""What `make ports` says of a tree: a warning is a failure, and so are modules for another kernel."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from env.checkout import ROOT
from env.errors import UserError
from env.lab.stock.kernel import HEADERS, find_release
from kernel.ports import build
from kernel.ports.trees import Tree
from tests.support.tools import require


@pytest.fixture
def tree() -> Tree:
    try:
        release = find_release("6.1")
    except UserError as error:
        require(None, str(error))
        raise
    return Tree(release, HEADERS / f"linux-headers-{release}", sparse=False)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of kernel/ that is built instead."""
    copy = tmp_path / "kernel"
    shutil.copytree(ROOT / "kernel", copy, ignore=shutil.ignore_patterns("__pycache__", "fuzz", "user"))
    monkeypatch.setattr(build, "BUILD_SCRIPT", copy / "build.sh")
    monkeypatch.setenv("KBUILD_FLAGS", "")
    return copy


def test_modules_for_another_kernel_are_none(tree: Tree, sources: Path) -> None:
    (wrong,) = build.build(replace(tree, release="6.1.0-0-amd64"))
    assert wrong == f"the 6 modules are for {tree.release}, not 6.1.0-0-amd64"


def test_a_warning_is_shown_with_its_line(tree: Tree, sources: Path) -> None:
    with (sources / "schemes" / "tcp_window.c").open("a") as file:
        file.write("static int never_called(void) { return 0; }\n")
    wrong = build.build(tree)
    assert any("tcp_window.c" in line and "never_called" in line and "warning:" in line for line in wrong)
