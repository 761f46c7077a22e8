"""Generated files: written, left alone, compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from env.files import generate


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
