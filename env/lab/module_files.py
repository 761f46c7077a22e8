"""The files of kernel modules: those of this machine, and those that were handed over to a node of a cluster.

A congestion control that a user brings is built on the machine of the command, and a node may lack its file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from env.errors import UserError

_contents: dict[Path, bytes] = {}  # by the absolute path of the file


def hand_over_modules(modules: Mapping[Path, bytes]) -> None:
    """Use these contents for the modules' files from now on, whether the files exist or not."""
    _contents.update(modules)


def is_handed_over(module: Path) -> bool:
    """Return whether the content of a module's file was handed over."""
    return module in _contents


def content_of(module: Path) -> bytes:
    """Return the bytes of a module's file. Raises OSError."""
    return _contents[module] if module in _contents else module.read_bytes()


def check_release(module: Path, release: str, remedy: str) -> None:
    """Raise UserError for a module that was built for another kernel. remedy: what to do about it."""
    version = re.search(rb"vermagic=(\S+)", content_of(module))
    if version is None:
        raise UserError(f"{module} is no kernel module: {remedy}")
    if (built_for := version[1].decode()) != release:
        raise UserError(f"{module} is built for {built_for}, not for Linux {release}: {remedy}")
