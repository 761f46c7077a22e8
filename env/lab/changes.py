"""Puts the changes that a script made in a guest into the same folder of the host."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import tarfile
import time
from pathlib import Path
from typing import BinaryIO

from env.lab.errors import LabError

OPAQUE = "trusted.overlay.opaque"  # the mark of a folder without its former content: env/lab/guest/script.py


def apply_changes(archive: BinaryIO, folder: Path) -> list[Path]:
    """Write, replace and delete files below a folder as the archive of env/lab/guest/script.py says.

    folder: without links in its path. Returns the files and links that were written. All files have the same time, the
    current one: make then takes what the script has built for built. Raises LabError for a file that cannot be written,
    after the others have been, and for what is no such archive.
    """
    written, failed = [], []
    now_s = time.time()
    try:
        with tarfile.open(fileobj=archive, mode="r|") as entries:
            for entry in entries:
                path = folder / entry.name
                try:
                    _check(entry, path)
                    _apply(entries, entry, path)
                    if entry.isreg() or entry.issym():
                        os.utime(path, (now_s, now_s), follow_symlinks=False)
                        written.append(path)
                except (OSError, ValueError) as error:  # ValueError: a zero byte in a name
                    failed.append(f"{path}: {getattr(error, 'strerror', None) or error}")
    except tarfile.TarError as error:
        raise LabError(f"the guest sent a damaged archive of its changes: {error}") from None
    if failed:
        raise LabError(f"{len(failed)} changed files could not be written, the first is {failed[0]}")
    return written


def _check(entry: tarfile.TarInfo, path: Path) -> None:
    """Raise OSError for an entry outside of the folder or behind a link, and for a link that leads out of the folder.

    It does not trust the guest. A name may have .. nowhere, a link's target only at its beginning: behind the name of
    another link, it would lead elsewhere than it seems to.
    """
    names = entry.name.split("/")
    target = entry.linkname.split("/") if entry.issym() else []
    ups = sum(1 for _ in itertools.takewhile("..".__eq__, target))
    leaves = ups >= len(names) or not {"", ".", ".."}.isdisjoint(names) or "" in target[:1] or ".." in target[ups:]
    if leaves or os.path.realpath(path.parent, strict=True) != str(path.parent):
        raise OSError(errno.EPERM, "it leads out of the working folder, or is behind a link")
    if entry.isfifo():
        raise OSError(errno.EFBIG, "with it, the files are larger than the lab's memory, see --memory-mb")


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
