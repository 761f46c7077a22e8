"""The changes of a script's folder on the host."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from env.lab.changes import OPAQUE, apply_changes
from env.lab.errors import LabError


def archive(*entries: tuple[str, bytes, str, dict[str, str]]) -> io.BytesIO:
    """Return an archive of entries: name, kind, content or target, marks."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, content, marks in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.pax_headers = kind, 0o755, marks
            if kind == tarfile.SYMTYPE:
                entry.linkname = content
            else:
                entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content.encode()))
    file.seek(0)
    return file


def test_files_folders_and_links_are_written(tmp_path: Path) -> None:
    changes = archive(
        ("out", tarfile.DIRTYPE, "", {}),
        ("out/result.txt", tarfile.REGTYPE, "text", {}),
        ("latest", tarfile.SYMTYPE, "out/result.txt", {}),
    )
    assert apply_changes(changes, tmp_path) == [tmp_path / "out" / "result.txt", tmp_path / "latest"]
    assert (tmp_path / "latest").read_text() == "text"
    assert (tmp_path / "latest").is_symlink()


def test_files_are_replaced_and_deleted(tmp_path: Path) -> None:
    for name in ("old", "gone"):
        (tmp_path / name).write_text("before")
    changes = archive(("gone", tarfile.CHRTYPE, "", {}), ("old", tarfile.REGTYPE, "after", {}))
    assert apply_changes(changes, tmp_path) == [tmp_path / "old"]
    assert [file.name for file in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "after"


def test_a_folder_that_was_made_again_is_empty(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "anew").mkdir()
    for folder in ("kept", "anew"):
        (tmp_path / folder / "before").touch()
    apply_changes(archive(("kept", tarfile.DIRTYPE, "", {}), ("anew", tarfile.DIRTYPE, "", {OPAQUE: "y"})), tmp_path)
    assert list((tmp_path / "kept").iterdir())
    assert not list((tmp_path / "anew").iterdir())


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("before")
    (folder / "link").symlink_to(outside)
    apply_changes(archive(("link", tarfile.REGTYPE, "after", {})), folder)
    assert outside.read_text() == "before"
    assert (folder / "link").read_text() == "after"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    changes = archive(("file/below", tarfile.REGTYPE, "", {}), ("other", tarfile.REGTYPE, "text", {}))
    with pytest.raises(LabError, match=r"1 changed files .*file/below: Not a directory"):
        apply_changes(changes, tmp_path)
    assert (tmp_path / "other").read_text() == "text"


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE])
@pytest.mark.parametrize("name", ["../victim", "{0}/victim", "a/../../victim", "..", ".", "", "link/victim", "a//b"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str, kind: bytes) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (tmp_path / "victim").write_text("before")
    with pytest.raises(LabError, match="could not be written"):
        apply_changes(archive((name.format(tmp_path), kind, "", {})), folder)
    assert (tmp_path / "victim").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "victim"]
    assert [path.name for path in folder.iterdir()] == ["link"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../victim", "a/../../victim", "..", "a/.."])
def test_no_link_leads_out_of_the_folder(tmp_path: Path, target: str) -> None:
    with pytest.raises(LabError, match="it leads out of the working folder"):
        apply_changes(archive(("link", tarfile.SYMTYPE, target, {})), tmp_path)
    assert list(tmp_path.iterdir()) == []
