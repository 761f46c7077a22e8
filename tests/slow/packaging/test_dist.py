"""`make -C packaging dist`: the tarball has the same bytes from two folders, and quickstart runs in it without git."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from export import checkpoint
from tests.support.release.clones import cloned, commit_of, run, share_venv


@pytest.mark.timeout(1200)
def test_quickstart_runs_in_the_unpacked_tarball(tmp_path: Path) -> None:
    clone = cloned(tmp_path / "clone")
    run(clone, "make", "-C", "packaging", "dist")
    (file,) = (clone / "build" / "dist").iterdir()
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path)
    tree = tmp_path / file.name.removesuffix(".tar.xz")
    share_venv(tree)
    printed = run(tree, "make", "quickstart", "TRAIN_ARGS=algo.total_decisions=5000")
    assert "\n== 6/6" in printed
    assert checkpoint.load(tree / "runs" / "quickstart")["git_revision"] == commit_of(clone)
    assert len(list((tree / "results").glob("bottleneck-*/report.html"))) == 1
    run(tree, "make", "-C", "packaging", "dist")
    assert (tree / "build" / "dist" / file.name).read_bytes() == file.read_bytes()
