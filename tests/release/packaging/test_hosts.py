"""`make -C packaging host`: an ordinary user sets the checkout up in a fresh distribution with what README asks for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.release.clones import run
from tests.support.tools import find_tool, require

CHROOT = ROOT / "packaging" / "hosts" / "chroot.sh"


@pytest.mark.timeout(2400)
def test_an_ordinary_user_sets_up_a_fresh_debian_13(tmp_path: Path) -> None:
    require(os.geteuid() == 0, "a chroot needs root")
    find_tool("debootstrap", "hosts")
    commands = (
        "id --name --user; make packages; make lab-kernel-key; /usr/bin/python3 -m venv .venv; git status --short"
    )
    printed = run(ROOT, CHROOT, "--keep", tmp_path / "root", "trixie", "sh", "-euc", commands)
    lines = printed.splitlines()
    assert "ndm" in lines
    key = lines.index(next(line for line in lines if line.startswith("key=")))
    assert lines[key + 1 :] == []
    assert not any(str(tmp_path) in line for line in Path("/proc/mounts").read_text().splitlines())


def test_an_unknown_distribution_is_refused() -> None:
    assert "'jessie' is no distribution: bookworm (Debian 12)" in run(ROOT, CHROOT, "jessie", status=1)
