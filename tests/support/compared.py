"""Hashes of what compare.py stored."""

from __future__ import annotations

import hashlib
from pathlib import Path


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a comparison's runs."""
    files = sorted(file for file in (folder / "runs").rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
