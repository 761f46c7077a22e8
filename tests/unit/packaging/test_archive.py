"""The source tarball: what is in it, its bytes, and the revision that it states. In a small repository of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.release.clones import DATES, IDENTITY

FILES = ("packaging/dist/archive.py", "env/checkout.py", "kernel/VERSION")
EPOCH = 1767323045  # of DATES
NOT_OURS = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "SOURCE_DATE_EPOCH")


def run(folder: Path, *words: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    done = subprocess.run(
        words, cwd=folder, env=kept | IDENTITY | DATES | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def archive(folder: Path, **environment: str) -> bytes:
    run(folder, sys.executable, "packaging/dist/archive.py", "out", **environment)
    (file,) = (folder / "out").iterdir()
    content = file.read_bytes()
    shutil.rmtree(folder / "out")
    return content


def revision(folder: Path) -> str:
    code = "import runpy; print(runpy.run_path('env/checkout.py')['git_revision']())"
    return run(folder, sys.executable, "-c", code)


def repository(folder: Path) -> Path:
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "kernel" / "build.sh").write_text("#!/bin/sh\n")
    (folder / "kernel" / "build.sh").chmod(0o755)
    run(folder, "git", "init", "-q")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "first")
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "checkout")


@pytest.fixture
def release(checkout: Path, tmp_path: Path) -> Path:
    """The unpacked tarball, within another repository."""
    around = tmp_path / "around"
    around.mkdir()
    (around / "file").write_text("x")
    run(around, "git", "init", "-q")
    run(around, "git", "add", "-A")
    run(around, "git", "commit", "-q", "-m", "other")
    (tmp_path / "release.tar.xz").write_bytes(archive(checkout))
    with tarfile.open(tmp_path / "release.tar.xz") as tar:
        tar.extractall(around)
    (folder,) = around.glob("ndm-tcp-*")
    return folder


def test_has_tracked_files_and_their_sums(release: Path, checkout: Path) -> None:
    version = (ROOT / "kernel" / "VERSION").read_text().strip()
    assert release.name == f"ndm-tcp-{version}"
    names = {str(file.relative_to(release)) for file in release.rglob("*") if file.is_file()}
    assert names == {*FILES, "kernel/build.sh", "RELEASE", "SHA256SUMS"}
    run(release, "sha256sum", "--check", "--strict", "SHA256SUMS")
    commit = run(checkout, "git", "rev-parse", "HEAD")
    assert (release / "RELEASE").read_text() == f"version {version}\ncommit {commit}\ntime {EPOCH}\n"
    assert os.access(release / "kernel" / "build.sh", os.X_OK)
    assert not (release / "kernel" / "VERSION").stat().st_mode & 0o133


def test_leaves_out_what_git_does_not_track(checkout: Path) -> None:
    before = archive(checkout)
    (checkout / "secret.txt").write_text("mine")
    assert archive(checkout) == before


def test_two_folders_give_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        other = repository(tmp_path / "another name")
    finally:
        os.umask(before)
    os.utime(other / "kernel" / "VERSION", (1, 1))
    assert archive(other) == archive(checkout)


def test_unpacked_release_gives_the_same_bytes(checkout: Path, release: Path) -> None:
    assert archive(release) == archive(checkout)


def test_source_date_epoch_sets_the_time(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "release.tar.xz"
    file.write_bytes(archive(checkout, SOURCE_DATE_EPOCH="1000000000"))
    with tarfile.open(file) as tar:
        assert {entry.mtime for entry in tar} == {1000000000}


def test_release_states_its_commit(checkout: Path, release: Path) -> None:
    assert revision(release) == run(checkout, "git", "rev-parse", "HEAD")


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_changed_release_has_a_plus(checkout: Path, release: Path, change: str) -> None:
    file = release / "kernel" / "build.sh"
    if change == "edit":
        file.write_text("#!/bin/sh\nexit\n")
    else:
        file.unlink()
    commit = run(checkout, "git", "rev-parse", "HEAD")
    assert revision(release) == f"{commit}+"


def test_release_of_changed_files_has_a_plus(checkout: Path, tmp_path: Path) -> None:
    (checkout / "kernel" / "build.sh").write_text("#!/bin/sh\nexit\n")
    (tmp_path / "release.tar.xz").write_bytes(archive(checkout))
    with tarfile.open(tmp_path / "release.tar.xz") as tar:
        tar.extractall(tmp_path)
    (release,) = tmp_path.glob("ndm-tcp-*/")
    commit = run(checkout, "git", "rev-parse", "HEAD")
    assert revision(release) == f"{commit}+"
    digest = hashlib.sha256(b"#!/bin/sh\nexit\n").hexdigest()
    assert f"{digest}  kernel/build.sh\n" in (release / "SHA256SUMS").read_text()


def test_tree_that_states_nothing_is_refused(release: Path) -> None:
    (release / "RELEASE").unlink()
    assert revision(release) == "unknown"
    command = [sys.executable, "packaging/dist/archive.py"]
    done = subprocess.run(command, cwd=release, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"dist: {release} has neither git's repository nor RELEASE and SHA256SUMS\n"
