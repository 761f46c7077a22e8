"""What a user may give as the source of a congestion control."""

import os
from pathlib import Path

import pytest

from env.errors import UserError
from env.own_module import source
from env.own_module.source import find_source


def test_file_is_built_with_the_headers_beside_it(tmp_path: Path) -> None:
    for name in ("tcp_a.c", "a.h", "tcp_b.c"):
        (tmp_path / name).write_text(name)
    found = find_source(str(tmp_path / "tcp_a.c"))
    assert found.files == (Path("tcp_a.c"), Path("a.h"))
    assert "obj-m := tcp_a.o\n" in found.makefile
    before = found.sha256()
    (tmp_path / "tcp_b.c").write_text("another")
    assert find_source(str(tmp_path / "tcp_a.c")).sha256() == before
    (tmp_path / "a.h").write_text("another")
    assert find_source(str(tmp_path / "tcp_a.c")).sha256() != before


def test_folder_is_built_without_what_a_build_has_left(tmp_path: Path) -> None:
    for name in ("Kbuild", "tcp_a.c", "part/b.c", "tcp_a.o", ".tcp_a.o.cmd", "tcp_a.mod.c", ".git/config", "tcp_a.ko"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = find_source(str(tmp_path))
    assert [str(file) for file in found.files] == ["Kbuild", "part/b.c", "tcp_a.c"]
    assert found.makefile == ""
    found.copy_to(tmp_path / "copy")
    assert (tmp_path / "copy" / "part" / "b.c").read_text() == "part/b.c"


@pytest.mark.parametrize(
    ("files", "given", "problem"),
    [
        ([], "tcp_a.c", "tcp_a.c does not exist; give a C file"),
        (["a.txt"], "a.txt", "a.txt is no source: give a C file"),
        (["a.txt"], ".", "has no Kbuild and no Makefile, and 0 C files"),
        (["a.c", "b.c"], ".", "has no Kbuild and no Makefile, and 2 C files"),
        (["a b.c"], "a b.c", "takes no path with a space"),
        (["1", "2", "3"], ".", "has more than 2 files or 50 MiB: give the module's own folder"),
    ],
)
def test_what_is_no_source_is_refused(
    files: list[str], given: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_FILES", 2)
    for name in files:
        (tmp_path / name).write_text("")
    with pytest.raises(UserError, match=problem):
        find_source(str(tmp_path / given))


def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tcp_a.c"
    file.write_text("a")
    file.chmod(0)
    user = os.geteuid()
    if not user:  # root reads every file
        os.seteuid(65534)
    try:
        with pytest.raises(UserError, match=r"cannot be read: Permission denied; its owner has to allow it"):
            find_source(str(file))
    finally:
        os.seteuid(user)
