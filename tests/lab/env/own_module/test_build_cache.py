"""The cache of built modules mends itself, and is not mistaken for a fault of the user's source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from env.errors import UserError
from env.own_module.build import build
from env.own_module.kernel_tree import KernelTree
from env.own_module.source import find_source


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[KernelTree, Path]:
    """A kernel tree that builds a text for a module and counts its builds, and a source."""
    monkeypatch.setenv("NDM_CACHE", str(tmp_path / "cache"))
    tree, source = tmp_path / "tree", tmp_path / "tcp_mine.c"
    tree.mkdir()
    source.write_text("int mine;\n")
    (tree / "Makefile").write_text("modules:\n\techo built >>builds\n\tcp $(M)/tcp_mine.c $(M)/tcp_mine.ko\n")
    return KernelTree(tree, "6.12", "0" * 64), source


def builds(tree: KernelTree) -> int:
    return (tree.folder / "builds").read_text().count("built")


@pytest.mark.parametrize("damage", ["", "int mined;\n", None])
def test_a_damaged_module_is_built_again(built: tuple[KernelTree, Path], damage: str | None) -> None:
    tree, source = built
    for _ in range(2):
        module = build(find_source(str(source)), tree, "mine")
    assert builds(tree) == 1
    if damage is None:
        shutil.rmtree(module.parent)
        module.parent.mkdir()
    else:
        module.write_text(damage)
    for _ in range(2):
        assert build(find_source(str(source)), tree, "mine").read_text() == "int mine;\n"
    assert builds(tree) == 2


def test_a_cache_that_cannot_be_used_is_named(built: tuple[KernelTree, Path], tmp_path: Path) -> None:
    tree, source = built
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match=r"the cache cannot be used \(.*/cache.*\); NDM_CACHE=FOLDER names another one"):
        build(find_source(str(source)), tree, "mine")
