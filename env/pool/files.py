"""The files that a lab boots from, by hash: every node of a cluster must have the same."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from env.lab.lab import PROGRAM
from env.lab.virtual import KERNEL, MODULES
from env.pool.errors import ClusterError

ALWAYS_LOADED = ("tcp_ndm_gym", "lab_gate", "sch_linktrace")


def lab_files(modules: Iterable[str]) -> dict[Path, str]:
    """Return the SHA-256 of the virtual lab's kernel, traffic program and modules, by path, of those that exist.

    modules: names of further ones in build/modules/lab.
    """
    files = [KERNEL, PROGRAM, *(MODULES / f"{name}.ko" for name in (*ALWAYS_LOADED, *modules))]
    return {file: _sha256(file) for file in files if file.is_file()}


def check_files(files: Mapping[Path, str]) -> None:
    """Raise ClusterError when this node does not have these files. files: by path, the SHA-256 that each must have."""
    for file, expected in files.items():
        if not file.is_file() or _sha256(file) != expected:
            difference = "differs" if file.is_file() else "is missing"
            raise ClusterError(
                f"node {socket.gethostname()}: {file} {difference}; every node needs the checkout at the same path and "
                "the same build as here"
            )


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
