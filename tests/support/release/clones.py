"""Packages of a release as tests: built in clones of the checkout, whose files are committed there as they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from env.checkout import ROOT

# of commits: the same bytes each time
IDENTITY = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"), "a@b")
DATES = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-02T03:04:05Z")


def outside() -> dict[str, str]:
    """Return the environment of a user's shell: nothing of the tests' own, nor of the checkout's make."""
    ours = ("NDM_", "MAKE", "MFLAGS", "GIT_", "PYTHON", "SOURCE_DATE_EPOCH")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run(folder: Path, *words: str | Path, status: int = 0, **environment: str) -> str:
    """Run a program in a folder, as a user would; it must end with the status. Returns what it printed."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=outside() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def cloned(folder: Path) -> Path:
    """Return a clone of the checkout with the Python packages of its .venv. Uncommitted changes are committed in it."""
    run(folder.parent, "git", "clone", "--quiet", ROOT, folder)
    run(folder, "git", "rm", "--quiet", "-r", ".")
    listed = run(ROOT, "git", "ls-files", "-z", "--cached")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    run(folder, "git", "add", "--all", "--force")
    run(folder, "git", "commit", "--quiet", "--allow-empty", "-m", "as it is", **IDENTITY, **DATES)
    share_venv(folder)
    return folder


def share_venv(folder: Path) -> None:
    """Give a source tree the checkout's .venv, so that nothing is downloaded."""
    (folder / ".venv").symlink_to((ROOT / ".venv").resolve())


def commit_of(clone: Path) -> str:
    """Return the commit of a clone."""
    return run(clone, "git", "rev-parse", "HEAD").strip()
