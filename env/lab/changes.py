"""Puts the changes that a script made in a guest into the same folder of the host."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import BinaryIO

from env.lab.errors import LabError

OPAQUE = "trusted.overlay.opaque"  # the mark of a folder without its former content: env/lab/guest/script.py


def apply_changes(archive: BinaryIO, folder: Path) -> list[Path]:
    """Write, replace and delete files below a folder as the archive of env/lab/guest/script.py says.

    Returns the files and links that were written. Files have the time at which this function writes them. Raises
    LabError for a file that cannot be written, after the others have been.
    """
    written, failed = [], []
    with tarfile.open(fileobj=archive, mode="r|") as entries:
        for entry in entries:
            path = folder / entry.name
            try:
                _apply(entries, entry, path)
            except OSError as error:
                failed.append(f"{path}: {error.strerror}")
                continue
            if entry.isreg() or entry.issym():
                written.append(path)
    if failed:
        raise LabError(f"{len(failed)} changed files could not be written, the first is {failed[0]}")
    return written


def _apply(entries: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    if entry.isdir():
        if path.is_symlink() or not path.is_dir() or OPAQUE in entry.pax_headers:
            _remove(path)
            path.mkdir()
        path.chmod(entry.mode & 0o777)
        return
    _remove(path)
    if entry.issym():
        path.symlink_to(entry.linkname)
    elif entry.isreg():
        content = entries.extractfile(entry)
        assert content is not None  # it is a regular file
        with path.open("xb") as file:
            shutil.copyfileobj(content, file)
        path.chmod(entry.mode & 0o777)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
