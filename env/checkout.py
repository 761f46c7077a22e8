"""The source tree, a checkout or an unpacked release: its folders and its revision.

Standard library only: the guest imports this module too, and packaging/dist runs it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
DATASETS = ROOT / "datasets"
DOCS = ROOT / "docs"
KERNEL = ROOT / "kernel"
BUILD = ROOT / "build"
# exported models, and the modules that are built with them; the tests use a separate folder
MODEL_BUILD = Path(os.environ.get("NDM_MODEL_BUILD") or BUILD).absolute()
# in the folder in which a command is called; the tree of an installed package is not the user's
RUNS = Path("runs")
RESULTS = Path("results")
# what a release (packaging/dist/archive.py) has in place of a repository
RELEASE = "RELEASE"
CHECKSUMS = "SHA256SUMS"


def cache_folder(kind: str) -> Path:
    """Return the folder of what is built once for all checkouts: $NDM_CACHE/KIND, by default in ~/.cache/ndm-tcp."""
    return Path(os.environ.get("NDM_CACHE") or Path.home() / ".cache" / "ndm-tcp") / kind


@functools.cache
def git_revision() -> str:
    """Return the commit of the source tree, with ``+`` when files differ from it; "unknown" if nothing states it.

    A checkout asks git, an unpacked release reads its file RELEASE. Later calls return the first result: a running
    process does not see later changes of the files.
    """
    if not (ROOT / ".git").exists():  # git would describe a repository around the tree
        return _release_revision()
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


def _release_revision() -> str:
    try:
        facts = dict(line.split(" ", 1) for line in (ROOT / RELEASE).read_text().splitlines())
        stated = [line.split("  ", 1) for line in (ROOT / CHECKSUMS).read_text().splitlines()]
        same = all(hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest for digest, name in stated)
    except FileNotFoundError as error:
        if error.filename in (str(ROOT / RELEASE), str(ROOT / CHECKSUMS)):
            return "unknown"
        same = False  # a file of the release is gone
    return facts["commit"] if same or facts["commit"].endswith("+") else f"{facts['commit']}+"
