"""`make install` and `make uninstall`: DKMS builds tcp_ndm for stock kernels, and uninstalling leaves nothing.

The tests install into a separate folder (DESTDIR), so that this machine stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from env.checkout import ROOT
from env.errors import UserError
from env.lab.stock.kernel import HEADERS, VERSIONS, find_release
from tests.support.guest import run_program, shell
from tests.support.labs import checked_lab
from tests.support.tools import find_tool, require

INSTALL = ROOT / "kernel" / "install.sh"
VERSION = (ROOT / "kernel" / "VERSION").read_text().strip()


@pytest.fixture
def headers() -> dict[str, Path]:
    require(os.geteuid() == 0, "DKMS installs for root only")
    find_tool("dkms", "slow")
    try:
        return {version: HEADERS / f"linux-headers-{find_release(version)}" for version in VERSIONS}
    except UserError as error:
        require(None, str(error))
        raise


def run(action: str, destination: Path, *kdir: Path, script: Path = INSTALL) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DESTDIR": str(destination), "LC_ALL": "C"}
    return subprocess.run(
        [str(script), action, *map(str, kdir)], capture_output=True, text=True, check=False, env=environment
    )


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def modinfo(module: Path, field: str) -> str:
    done = subprocess.run(["/sbin/modinfo", "-F", field, str(module)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def release_of(folder: Path) -> str:
    return folder.name.removeprefix("linux-headers-")


def compiled(destination: Path, headers: Path, tmp_path: Path) -> set[str]:
    """Return the installed sources that the compiler reads, as names in their folder."""
    source = tmp_path / "again"
    shutil.copytree(destination / "usr" / "src" / f"ndm-tcp-{VERSION}", source)
    subprocess.run(["make", "-s", "-C", headers, f"M={source}", "NDM_ONLY=y", "modules"], check=True)
    commands = "".join(file.read_text() for file in source.rglob(".ndm_*.o.cmd"))
    return {
        os.path.relpath(name, source) for name in re.findall(rf"{re.escape(str(source))}/[\w./]+\.[ch]\b", commands)
    }


@pytest.mark.timeout(900)
def test_dkms_builds_and_removes_it_for_stock_kernels(headers: dict[str, Path], tmp_path: Path) -> None:
    destination = tmp_path / "root"
    for number, folder in enumerate(headers.values(), 1):
        done = run("install", destination, folder)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        # a kernel that had the module gets the new one as well
        assert done.stdout.count(f"tcp_ndm {VERSION} is installed for ") == number
    installed = sorted(destination.glob("lib/modules/*/updates/dkms/*"))
    assert {module.name.split(".")[0] for module in installed} == {"tcp_ndm"}, "no module that the kernel has too"
    assert {module.parents[2].name for module in installed} == {release_of(folder) for folder in headers.values()}
    for module in installed:
        assert modinfo(module, "vermagic").split()[0] == module.parents[2].name
        assert modinfo(module, "version") == VERSION
        assert modinfo(module, "license") == "GPL"
        assert modinfo(module, "description").startswith("NDM TCP congestion control")
        assert "slots:" in modinfo(module, "parm")
        assert modinfo(module, "signer") == "DKMS module signing key"

    sources = destination / "usr" / "src" / f"ndm-tcp-{VERSION}"
    needed = compiled(destination, headers["6.12"], tmp_path)
    assert set(files(sources)) == needed | {"Kbuild", "VERSION", "dkms.conf"}, "what is needed, and no more"
    folders = {name.split("/")[0] for name in needed}
    assert folders == {"compat", "models", "ndm", "ndm_weights.h"}, "a file that ships includes none that does not"

    done = run("uninstall", destination)
    assert (done.returncode, done.stdout) == (0, "ndm-tcp is uninstalled\n"), done.stderr
    # DKMS keeps the key that it made to sign modules
    assert files(destination) == ["var/lib/dkms/mok.key", "var/lib/dkms/mok.pub"]
    assert not sources.exists()
    assert "is not installed" in run("uninstall", destination).stdout


@pytest.mark.timeout(600)
def test_failed_build_leaves_the_installed_module(headers: dict[str, Path], tmp_path: Path) -> None:
    destination = tmp_path / "root"
    folder = headers["6.1"]
    assert run("install", destination, folder).returncode == 0
    before = {name: (destination / name).read_bytes() for name in files(destination) if (destination / name).is_file()}
    broken = tmp_path / "kernel"
    shutil.copytree(ROOT / "kernel", broken, ignore=shutil.ignore_patterns("fuzz", "user"))
    with (broken / "ndm" / "tcp" / "ndm_main.c").open("a") as file:
        file.write("this does not compile\n")
    done = run("install", destination, folder, script=broken / "install.sh")
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert "this does not compile" in done.stderr
    assert {name: (destination / name).read_bytes() for name in before} == before


def stock_tree(folder: Path, release: str) -> Path:
    """Make a kernel build tree that has nothing but its release."""
    generated = folder / "include" / "generated"
    generated.mkdir(parents=True)
    (folder / "Makefile").touch()
    (generated / "utsrelease.h").write_text(f'#define UTS_RELEASE "{release}"\n')
    return folder


@pytest.mark.parametrize("release", ["5.15.0-91-generic", "6.0.0-1-amd64", "8.0.1-arch1"])
def test_kernels_out_of_range_are_refused(headers: dict[str, Path], tmp_path: Path, release: str) -> None:
    done = run("install", tmp_path / "root", stock_tree(tmp_path / "tree", release))
    assert done.returncode == 1
    assert done.stderr == f"make install: tcp_ndm is for Linux 6.1 to 7.x, not {release}\n"


def test_what_is_missing_is_named(headers: dict[str, Path], tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    done = run("install", tmp_path / "root", nowhere)
    assert done.stderr == f"make install: KDIR={nowhere} is not a kernel build tree: it has no Makefile\n"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "Makefile").touch()
    assert "is not prepared for modules" in run("install", tmp_path / "root", tmp_path / "bare").stderr
    if not Path(f"/lib/modules/{os.uname().release}/build/Makefile").is_file():
        assert f"the running kernel, {os.uname().release}, has no headers" in run("install", tmp_path / "root").stderr
    assert files(tmp_path / "root") == []


def test_module_in_use_is_not_uninstalled(headers: dict[str, Path]) -> None:
    with checked_lab("tcp_ndm") as lab:
        # register the module in a file system in the guest's memory
        shell(lab, "mount -t tmpfs none /var/lib/dkms && mount -t tmpfs none /usr/src && mkdir /usr/src/ndm-tcp-0.0.1")
        shell(lab, f"sed s/#MODULE_VERSION#/0.0.1/ {ROOT}/kernel/dkms.conf > /usr/src/ndm-tcp-0.0.1/dkms.conf")
        shell(lab, "dkms add -m ndm-tcp -v 0.0.1")
        code = f"""
            def run(command):
                done = subprocess.run(command, shell=True, capture_output=True, text=True)
                print(done.returncode, done.stdout + done.stderr)
            sender, receiver = connect("ndm")
            send(sender, receiver, 1 << 20)
            run("{INSTALL} uninstall")
            send(sender, receiver, 1 << 20)
            run("ss -tiHO | grep -w ndm")
            port = sender.getsockname()[1]
            print(f"port {{port}}")
            sender.close()
            receiver.close()
            run("{INSTALL} uninstall && ls /usr/src")
        """
        shown = run_program(lab, code)
    refused, _, after = shown.partition("\nport ")
    assert refused.startswith(
        "1 make uninstall: tcp_ndm is in use, nothing was changed: rmmod: ERROR: Module tcp_ndm is in use"
    )
    assert re.search(rf"127.0.0.1:{after.split()[0]}\b.* ndm ", refused), "ss names the connection"
    assert after.split(maxsplit=1)[1].strip() == "0 ndm-tcp is uninstalled", "the sources are still there"
