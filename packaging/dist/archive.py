#!/usr/bin/env python3
"""Write the source tarball of a release: every file that git tracks, the same bytes for the same commit.

packaging/dist/archive.py [FOLDER]     writes FOLDER/ndm-tcp-VERSION.tar.xz, by default in build/dist

The tarball also has RELEASE, with the version, the commit and its time, and SHA256SUMS, which lists all other files. An
unpacked release makes the same tarball from these two, without git. SOURCE_DATE_EPOCH sets the time. Standard library
only, since the package's build imports this file.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import runpy
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# not imported: the package env needs Gymnasium, which a build does not have
CHECKOUT = runpy.run_path(str(ROOT / "env" / "checkout.py"))
RELEASE: str = CHECKOUT["RELEASE"]
CHECKSUMS: str = CHECKOUT["CHECKSUMS"]


class ReleaseError(Exception):
    """The tree is neither a checkout nor an unpacked release."""


@dataclass(frozen=True)
class Release:
    """A release. commit: with ``+`` when files differ from it. epoch: seconds, the time of all files."""

    version: str
    commit: str
    epoch: int

    @property
    def name(self) -> str:
        """The name of the tarball, and of the folder in it."""
        return f"ndm-tcp-{self.version}"


def describe() -> Release:
    """Return the release that the tree's files make. Raises ReleaseError."""
    commit = CHECKOUT["git_revision"]()
    if commit == "unknown":
        raise ReleaseError(f"{ROOT} has neither git's repository nor {RELEASE} and {CHECKSUMS}")
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _epoch()
    return Release((ROOT / "kernel" / "VERSION").read_text().strip(), commit, int(epoch))


def files(release: Release) -> dict[str, tuple[bytes, bool]]:
    """Return name to content, and whether it is executable, of all files of the release, sorted by name."""
    content = {name: ((ROOT / name).read_bytes(), os.access(ROOT / name, os.X_OK)) for name in _tracked()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, (data, _) in sorted(content.items()))
    facts = f"version {release.version}\ncommit {release.commit}\ntime {release.epoch}\n"
    content |= {CHECKSUMS: (sums.encode(), False), RELEASE: (facts.encode(), False)}
    return dict(sorted(content.items()))


def tarball(release: Release) -> bytes:
    """Return the bytes of ndm-tcp-VERSION.tar.xz."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, (data, executable) in files(release).items():
            entry = tarfile.TarInfo(f"{release.name}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), release.epoch, 0o755 if executable else 0o644
            tar.addfile(entry, io.BytesIO(data))
    return lzma.compress(buffer.getvalue(), preset=9)


def _tracked() -> list[str]:
    """Return the files that git tracks, or that the release lists, without deleted ones."""
    if (ROOT / ".git").exists():
        names = _git("ls-files", "-z").rstrip("\0").split("\0")
    else:
        names = [line.split("  ", 1)[1] for line in (ROOT / CHECKSUMS).read_text().splitlines()]
    return [name for name in names if (ROOT / name).is_file()]


def _epoch() -> str:
    if (ROOT / ".git").exists():
        return _git("show", "--no-patch", "--format=%ct", "HEAD")
    facts = dict(line.split(" ", 1) for line in (ROOT / RELEASE).read_text().splitlines())
    return facts["time"]


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


def main(arguments: list[str]) -> int:
    """Write the tarball and print its name; returns the exit status."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print("usage: packaging/dist/archive.py [FOLDER]", file=sys.stderr)
        return 2
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "dist"
    try:
        release = describe()
        if release.commit.endswith("+"):
            print(f"dist: files differ from the commit, so the release says {release.commit}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{release.name}.tar.xz"
        file.write_bytes(tarball(release))
    except (ReleaseError, OSError, subprocess.CalledProcessError) as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    print(f"{file}: {file.stat().st_size:,} bytes, commit {release.commit}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
