"""Files: written whole, generated, and bounded where others may have made them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from env.errors import UserError
from env.files import generate, read_at_most, write_atomically


def test_generated_file_is_written_if_it_differs(tmp_path: Path) -> None:
    old, new = tmp_path / "old.h", tmp_path / "folder" / "new.h"
    old.write_text("same")
    os.utime(old, (1, 1))
    assert generate("make it", {old: lambda: "same", new: lambda: "text"}, []) == 0
    assert new.read_text() == "text"
    assert old.stat().st_mtime == 1, "what is built from it is not built again"


def test_check_names_what_differs_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {tmp_path / name: lambda: "text" for name in ("fresh.h", "stale.h", "missing.h")}
    (tmp_path / "fresh.h").write_text("text")
    (tmp_path / "stale.h").write_text("before")
    assert generate("make it", files, ["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path / name} is not up to date: run `make it`" for name in ("stale.h", "missing.h")
    ]
    assert (tmp_path / "stale.h").read_text() == "before"
    assert not (tmp_path / "missing.h").exists()


def test_other_arguments_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate("make it", {tmp_path / "x": lambda: "text"}, ["--chek"]) == 2
    assert capsys.readouterr().err == "usage: make it [--check]\n"
    assert not (tmp_path / "x").exists()


def test_no_link_is_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".report.html.{os.getpid()}.tmp").symlink_to(victim)
    write_atomically(tmp_path / "report.html", b"new")
    assert (tmp_path / "report.html").read_bytes() == b"new"
    assert victim.read_text() == "mine"


def test_larger_files_are_refused(tmp_path: Path) -> None:
    for name, data in (("plain", bytes(3 << 20)), ("packed.gz", gzip.compress(bytes(3 << 20)))):
        (tmp_path / name).write_bytes(data)
        assert read_at_most(tmp_path / name, 3 << 20) == bytes(3 << 20)
        with pytest.raises(UserError, match="has more than 2 MiB: it is refused"):
            read_at_most(tmp_path / name, 2 << 20)


def test_no_fifo_is_waited_for(tmp_path: Path) -> None:
    for name in ("experiment.json", "packed.gz"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(UserError, match=f"{name} is no regular file"):
            read_at_most(tmp_path / name, 1)
