"""The source tree that the package brings, unpacked into a folder of the user's: $NDM_HOME/VERSION-HASH.

Kernel modules are built in the tree, so it cannot stay in site-packages. The hash is that of the packed tree: another
build of a version has a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path

PACKED = Path(__file__).with_name("source.tar.xz")


class WorkspaceError(Exception):
    """The source tree cannot be unpacked; the text names the folder and the remedy."""


def version() -> str:
    """Return the version of the installed package."""
    return metadata.version("ndm-tcp")


def home() -> Path:
    """Return the folder of all workspaces: $NDM_HOME, by default ndm-tcp in the user's data folder."""
    if named := os.environ.get("NDM_HOME"):
        return Path(named).absolute()
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data, "ndm-tcp").absolute()


def folder() -> Path:
    """Return the folder of this version's source tree, which may not exist yet."""
    return home() / f"{version()}-{hashlib.sha256(PACKED.read_bytes()).hexdigest()[:8]}"


def prepare() -> Path:
    """Return the folder of the source tree, unpacked whole or not at all. Raises WorkspaceError."""
    tree = folder()
    if bad := next((letter for letter in str(tree) if letter.isspace() or letter in ":#$%"), None):
        raise WorkspaceError(f"{tree} has {bad!r} in its name, which make cannot have: set NDM_HOME to another folder")
    if not tree.is_dir():
        try:
            _unpack(tree)
        except OSError as error:
            reason = error.strerror or error
            raise WorkspaceError(f"cannot unpack the source tree into {tree}: {reason}; NDM_HOME= elsewhere") from error
    return tree


def _unpack(tree: Path) -> None:
    tree.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=tree.parent))
    try:
        with tarfile.open(PACKED) as tar:
            if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
                tar.extraction_filter = tarfile.data_filter
            tar.extractall(work)
        (unpacked,) = work.iterdir()
        stamp = unpacked / ".venv" / "installed"  # the Makefile has nothing to install: pip has done it
        stamp.parent.mkdir()
        shutil.copy(unpacked / "requirements.txt", stamp)
        try:
            unpacked.rename(tree)
        except OSError:
            if not tree.is_dir():  # another process was faster
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
