"""`make series`: the patches for the newest kernel pass its checkpatch and build there."""

from __future__ import annotations

import subprocess

import pytest

from env.checkout import BUILD, ROOT


@pytest.mark.timeout(1800)
def test_series_is_written_and_builds() -> None:
    done = subprocess.run(["make", "series"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checkpatch --strict has nothing to say" in done.stdout
    assert "the modules build with W=1" in done.stdout
    patches = sorted(file.name for file in (BUILD / "series").iterdir())
    assert patches[0] == "0000-cover-letter.patch"
    assert len(patches) == 8
    cover = (BUILD / "series" / patches[0]).read_text()
    assert "[PATCH net-next 0/7] tcp: ndm: a congestion control" in cover
    assert "***" not in cover


def test_a_tree_that_is_none_is_refused() -> None:
    done = subprocess.run(
        ["make", "series", "KERNEL_SRC=/usr"], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode != 0
    assert "series: KERNEL_SRC=/usr is no source tree of Linux: it has no net/ipv4/Kconfig" in done.stderr
