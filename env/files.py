"""Files that are written whole or not at all, and folders that one process at a time works in.

Own code: atomicwrites is no longer maintained, and filelock leaves a lock file in the folder and cannot lock the folder
itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class WriteError(OSError):
    """A file that cannot be written; the text names it and says what became of the previous version."""


class FolderInUse(Exception):
    """Another process works in the folder."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write under a temporary name, flush to the disk, and rename: on any error the previous file stays as it was.

    Raises WriteError when the bytes cannot be written (full disk, no permission).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the rename itself
        finally:
            os.close(folder)
    except OSError as error:
        kept = "the previous one is unharmed" if path.exists() else "there was none before"
        raise WriteError(f"cannot write {path}: {error.strerror}; {kept}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder. Raises FolderInUse when one works there, OSError when it is not there."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(f"another process is at work in {folder}") from None
        yield
    finally:
        os.close(descriptor)
