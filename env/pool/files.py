"""Hashes the files that a lab boots from. Every node of a cluster must have the same files."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from env.errors import UserError
from env.files import sha256
from env.lab.lab import PROGRAM
from env.lab.virtual import ALWAYS_LOADED, INIT, KERNEL, MODULES


def lab_files(modules: Iterable[str]) -> dict[Path, str]:
    """Return, by path, the SHA-256 of those of the virtual lab's kernel, traffic program and modules that exist.

    modules: names in build/modules/lab, besides those that are always loaded, or files.
    """
    files = [KERNEL, INIT, PROGRAM, *(MODULES / _file_name(name) for name in (*ALWAYS_LOADED, *modules))]
    return {file: sha256(file) for file in files if file.is_file()}


def check_files(files: Mapping[Path, str]) -> None:
    """Raise UserError if a file is missing on this node or differs. files: by path, the SHA-256 that each must
    have."""
    for file, expected in files.items():
        if not file.is_file() or sha256(file) != expected:
            difference = "differs" if file.is_file() else "is missing"
            raise UserError(
                f"node {socket.gethostname()}: {file} {difference}; every node needs the checkout at the same path and "
                "the same build as here"
            )


def _file_name(module: str) -> str:
    return module if module.endswith(".ko") else f"{module}.ko"
