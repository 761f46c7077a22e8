"""The checkout: its folders and its revision. Standard library only: the guest imports this module too."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
DATASETS = ROOT / "datasets"
DOCS = ROOT / "docs"
KERNEL = ROOT / "kernel"
BUILD = ROOT / "build"
# exported models, and the modules and libndm.so that are built with them; the tests use a separate folder
MODEL_BUILD = Path(os.environ.get("NDM_MODEL_BUILD") or BUILD).absolute()
RUNS = ROOT / "runs"
RESULTS = ROOT / "results"


def cache_folder(kind: str) -> Path:
    """Return the folder of what is built once for all checkouts: $NDM_CACHE/KIND, by default in ~/.cache/ndm-tcp."""
    return Path(os.environ.get("NDM_CACHE") or Path.home() / ".cache" / "ndm-tcp") / kind


@functools.cache
def git_revision() -> str:
    """Return the commit of the source tree, with ``+`` when files differ from it; "unknown" outside a checkout.

    Later calls return the first result: a running process does not see later changes of the files.
    """
    try:
        described = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
