"""The build of the lab kernel, with a tiny source: an interrupted build goes on, a damaged one begins again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.commands import wait_until

pytestmark = pytest.mark.timeout(60)
OPTION = "CONFIG_TINY=y"
# compiles `first`, waits for the file `go` beside the cache, then compiles the rest
MAKEFILE = """
VERSION = 6
PATCHLEVEL = 12
all: first linux include/config/kernel.release
allnoconfig:
	cp "$(KCONFIG_ALLCONFIG)" .config
kernel/params.o: first
first:
	@echo "  CC      first.o" | tee -a ../../../../compiled
	@touch first
linux: first
	@touch ../../../../first-is-compiled
	@until [ -e ../../../../go ]; do sleep 0.05; done
	@[ ! -e damaged ] || { echo "damaged object" >&2; exit 1; }
	cp /bin/true linux
include/config/kernel.release:
	mkdir -p include/config && echo "6.12-tiny$(LOCALVERSION)" >$@
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Return a folder with the builder and a source tarball of its own."""
    lab = tmp_path / "house" / "kernel" / "lab" / "uml"
    lab.mkdir(parents=True)
    for name in ("build.py", "cc.sh", "lab_headers.h"):
        shutil.copy(ROOT / "kernel" / "lab" / "uml" / name, lab)
    (lab / "lab.config").write_text(OPTION + "\n")
    for name in ("scripts", "sanitizer"):
        (lab / f"{name}.config").write_text(f"# {name}\n")
    source = tmp_path / "linux"
    for folder in ("arch/um", "drivers"):
        (source / folder).mkdir(parents=True)
    (source / "Makefile").write_text(MAKEFILE)
    (source / "drivers" / "Makefile").touch()
    with tarfile.open(tmp_path / "linux.tar.xz", "w:xz") as archive:
        archive.add(source, "linux")
    return tmp_path


def start(house: Path, *options: str) -> subprocess.Popen[str]:
    environment = os.environ | {"NDM_CACHE": str(house / "cache"), "KERNEL_SRC": str(house / "linux.tar.xz")}
    command = [sys.executable, "house/kernel/lab/uml/build.py", *options]
    return subprocess.Popen(
        command, cwd=house, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def interrupt(house: Path) -> str:
    """Press Ctrl-C when the first file is compiled; return the messages."""
    build = start(house)
    wait_until(build, (house / "first-is-compiled").exists, "nothing was compiled")
    os.killpg(build.pid, signal.SIGINT)
    messages = build.communicate()[1]
    assert build.returncode == 130
    return messages


def finish(house: Path) -> str:
    """Build to the end; return the messages."""
    (house / "go").touch()
    build = start(house)
    messages = build.communicate()[1]
    assert build.returncode == 0, messages
    assert (house / "house" / "build" / "lab-kernel" / "linux").is_file()
    return messages


def test_an_interrupted_build_goes_on(house: Path) -> None:
    assert "the same command goes on" in interrupt(house)
    messages = finish(house)
    assert "going on with the build that was interrupted" in messages
    assert "unpacking" not in messages
    assert (house / "compiled").read_text().splitlines() == ["  CC      first.o"]
    assert [path.name for path in (house / "cache" / "lab-kernel").iterdir() if path.suffix != ".lock"] == [
        (house / "house" / "build" / "lab-kernel").resolve().name
    ]


def test_a_damaged_build_begins_again(house: Path) -> None:
    interrupt(house)
    (tree,) = (house / "cache" / "lab-kernel").glob(".*/tree")
    (tree / "damaged").touch()
    messages = finish(house)
    assert "cannot go on; beginning again" in messages
    assert "unpacking" in messages
    assert len((house / "compiled").read_text().splitlines()) == 2


def test_an_interrupted_build_with_other_options_begins_anew(house: Path) -> None:
    interrupt(house)
    (house / "house" / "kernel" / "lab" / "uml" / "lab.config").write_text(f"{OPTION}\nCONFIG_OTHER=y\n")
    messages = finish(house)
    assert "going on" not in messages
    assert "unpacking" in messages


def test_kernels_of_other_options_have_other_releases(house: Path) -> None:
    (house / "go").touch()
    releases = {}
    for variant in ("lab", "sanitizer"):
        build = start(house, "--variant", variant)
        messages = build.communicate()[1]
        assert build.returncode == 0, messages
        manifest = (house / "house" / "build" / f"{variant}-kernel" / "manifest.json").resolve()
        releases[variant] = json.loads(manifest.read_text())["release"]
        assert releases[variant] == f"6.12-tiny-{variant}-{manifest.parent.name[:8]}"
    assert releases["lab"] != releases["sanitizer"]
