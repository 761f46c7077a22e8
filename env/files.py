"""Files that are written whole or not at all, generated files, and folders that one process at a time works in; limits
of what a file may hold that others may have made.

Own code: atomicwrites is no longer maintained, and filelock leaves a lock file in the folder and cannot lock the folder
itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import itertools
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from env.errors import UserError

PIECE = 1 << 20  # bytes read at a time


class FolderInUse(UserError):
    """Another process works in the folder."""


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def regular(file: Path) -> Path:
    """Return a path that is none of a FIFO, which would wait for a writer, or a device. Raises UserError for these."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise UserError(f"{file} is no regular file")
    return file


def read_at_most(file: Path, most: int) -> bytes:
    """Return a file's bytes, those of a name in .gz uncompressed.

    Raises UserError for more than `most`, having read little more than that, and as regular() does; OSError, EOFError,
    zlib.error.
    """
    regular(file)
    with gzip.open(file) if file.name.endswith(".gz") else file.open("rb") as stream:
        data = b"".join(itertools.islice(iter(lambda: stream.read(PIECE), b""), most // PIECE + 1))
    if len(data) > most:
        raise UserError(f"{file} has more than {most >> 20} MiB: it is refused")
    return data


def leaves(content: Any, most: int, where: str) -> Iterator[Any]:
    """Yield the keys and values within nested mappings, lists or nodes of YAML.

    Raises UserError for more than `most`: a few bytes of YAML or pickle can repeat a list any number of times.
    """
    waiting, seen = [content], 0
    while waiting:
        seen += 1
        if seen + len(waiting) > most:
            raise UserError(f"{where} repeats values until there are more than {most}: it is refused")
        value = waiting.pop()
        value = getattr(value, "value", value)  # of a node
        if isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple)):
            waiting += value
        else:
            yield value


def write_atomically(path: Path, data: bytes) -> None:
    """Write under a temporary name, flush to the disk, and rename: on any error the previous file stays as it was.

    Raises UserError when the bytes cannot be written (full disk, no permission).
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
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
        previous = "the previous one is unharmed" if path.exists() else "there was none before"
        raise UserError(f"cannot write {path}: {error.strerror}; {previous}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def generate(command: str, files: Mapping[Path, Callable[[], str]], arguments: Sequence[str]) -> int:
    """Write generated files, each with the text of its function; with --check only name those that differ.

    command: the command line that calls this, with these arguments. An unchanged file keeps its time, so that nothing
    is built again. Returns the exit status: 1 where --check finds a difference, 2 for other arguments. Raises
    UserError.
    """
    if list(arguments) not in ([], ["--check"]):
        print(f"usage: {command} [--check]", file=sys.stderr)
        return 2
    status = 0
    for file, render in files.items():
        text = render()
        if file.is_file() and file.read_text() == text:
            continue
        if arguments:
            print(f"{file} is not up to date: run `{command}`", file=sys.stderr)
            status = 1
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, text.encode())
    return status


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder. Raises FolderInUse if one is at work there, OSError if there is no
    folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(f"another process is at work in {folder}") from None
        yield
    finally:
        os.close(descriptor)
