"""`make deb`: what it refuses, the same bytes from any folder, and its packages in a clean system.

The tests build two versions, so that there is an upgrade. The system has no running kernel of its own: other tests show
what the module and the BPF program do in one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.release.chroot import HEADERS, Chroot, unpack_chroot
from tests.support.tools import find_tool, require

OLD, NEW = "1.2.3", "1.2.4"
# what `make deb` takes from a checkout
TAKEN = ["Makefile", "LICENSE", "kernel", "datasets/models", "packaging/debian", "setup"]
BINARY = ["ndm-tcp", "ndm-tcp-dkms"]
TOOLS = {"dpkg-buildpackage": "deb", "dh_dkms": "deb", "lintian": "deb", "clang": "deb", "debootstrap": "release"}


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    require(os.geteuid() == 0, "only root may enter another root folder")
    for tool, purpose in TOOLS.items():
        find_tool(tool, purpose)


def checkout(folder: Path, version: str) -> Path:
    """Copy what the packages are built from, with another version; returns the folder."""
    for name in TAKEN:
        source = ROOT / name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy(source, folder / name)
    (folder / "kernel" / "VERSION").write_text(f"{version}\n")
    return folder


def build(tree: Path, output: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run packaging/debian/build.sh of a tree, as on 14 November 2023."""
    return subprocess.run(
        [tree / "packaging" / "debian" / "build.sh", output],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"} | environment,
    )


def built(tree: Path, output: Path, **environment: str) -> Path:
    done = build(tree, output, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return output


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    return built(checkout(folder / "tree", OLD), folder / "packages")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    return built(checkout(folder / "tree", NEW), folder / "packages")


def contents(package: Path) -> list[str]:
    """Return the paths in a package."""
    shown = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    return [line.split(maxsplit=5)[5].removeprefix(".") for line in shown.splitlines()]


@pytest.mark.parametrize("version", ["1.0", "1.0.0-rc1", "v1.0.0"])
def test_versions_that_debian_orders_otherwise_are_refused(tmp_path: Path, version: str) -> None:
    done = build(checkout(tmp_path / "tree", version), tmp_path / "packages")
    assert done.returncode == 1
    assert done.stderr == (f"packaging/debian/build.sh: kernel/VERSION is {version}, not three numbers such as 1.0.0\n")
    assert not (tmp_path / "packages").exists()


@pytest.mark.timeout(600)
def test_what_lintian_finds_ends_the_build(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", OLD)
    control = tree / "packaging" / "debian" / "control"
    control.write_text(control.read_text().replace("no signature", "no recieve"))
    done = build(tree, tmp_path / "packages")
    assert done.returncode == 1
    assert "spelling-error-in-description recieve receive" in done.stdout
    assert list((tmp_path / "packages").iterdir()) == []


@pytest.mark.timeout(900)
def test_packages_have_the_same_bytes_from_any_folder(old: Path, tmp_path: Path) -> None:
    tree = checkout(tmp_path / "another place" / "checkout", OLD)
    (tmp_path / "temporary").mkdir()
    (tree / "build" / "exported" / "models").mkdir(parents=True)
    # a model of the user's, which does not ship
    (tree / "build" / "exported" / "models" / "mixed.h").write_text("#error exported\n")
    umask = os.umask(0o077)
    try:
        again = built(tree, tmp_path / "again", TMPDIR=str(tmp_path / "temporary"), TZ="Asia/Tokyo", LC_ALL="C")
    finally:
        os.umask(umask)
    names = sorted(path.name for path in old.iterdir() if path.suffix in (".deb", ".dsc", ".xz"))
    assert len(names) == 5, "two packages, debug symbols, the source and its description"
    for name in names:
        assert (old / name).read_bytes() == (again / name).read_bytes(), name


def package(folder: Path, name: str) -> Path:
    (file,) = folder.glob(f"{name}_*.deb")
    return file


@pytest.mark.timeout(600)
def test_packages_have_the_files_of_make_install(old: Path, tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", OLD)
    environment = os.environ | {"DESTDIR": str(tmp_path / "root")}
    del environment["NDM_MODEL_BUILD"]  # of the tests
    subprocess.run(["make", "-C", tree, "build/bpf/ndm.bpf.o", "build/ndmctl"], check=True, env=environment)
    subprocess.run([tree / "kernel" / "ctl" / "install.sh", "install"], check=True, env=environment)
    made = {f"/{path.relative_to(tmp_path / 'root')}" for path in (tmp_path / "root").rglob("*") if path.is_file()}
    shipped = {name.removesuffix(".gz") for name in contents(package(old, "ndm-tcp")) if not name.endswith("/")}
    # a unit's folder is the distribution's choice
    shipped = {name.replace("/lib/systemd", "/usr/lib/systemd").replace("/usr/usr", "/usr") for name in shipped}
    packaging = re.compile(r"/usr/share/(doc|lintian)/")
    assert {name for name in shipped if not packaging.match(name)} == made
    assert "/usr/lib/ndm/models/mixed.bin" in made
    subprocess.run([tree / "kernel" / "ctl" / "install.sh", "uninstall"], check=True, env=environment)
    assert [path for path in (tmp_path / "root").rglob("*") if path.is_file()] == []

    sources = tmp_path / "sources"
    subprocess.run([tree / "kernel" / "install.sh", "sources", sources], check=True, env=environment)
    made = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.is_file()}
    shipped = {name for name in contents(package(old, "ndm-tcp-dkms")) if not name.endswith("/")}
    assert {name.removeprefix(f"/usr/src/ndm-tcp-{OLD}/") for name in shipped if not packaging.match(name)} == made


def give(chroot: Chroot, folder: Path) -> list[str]:
    """Copy the binary packages of a folder into the system; returns their paths there."""
    for name in BINARY:
        shutil.copy(package(folder, name), chroot.root / "tmp")
    return [f"/tmp/{package(folder, name).name}" for name in BINARY]


def dkms(chroot: Chroot) -> list[tuple[str, str]]:
    """Return (version, state) of the module for each kernel."""
    status = chroot.run("dkms status ndm-tcp").stdout
    return [(match[1], match[2]) for match in re.finditer(r"^ndm-tcp/([\d.]+), [^:]*: (.*)$", status, re.MULTILINE)]


def modinfo(chroot: Chroot, field: str) -> str:
    return chroot.run(f"modinfo -F {field} $(find /lib/modules/ -name 'tcp_ndm.ko*')").stdout.strip()


def named(chroot: Chroot) -> set[str]:
    """Return the paths whose name has the project's name."""
    return {path for path in chroot.files() if re.search(r"(^|[/_.-])(tcp_)?ndm", path)}


def check_installed(chroot: Chroot, version: str) -> None:
    assert dkms(chroot) == [(version, "installed")]
    assert modinfo(chroot, "version") == version
    assert [path.name for path in chroot.root.glob("usr/src/ndm-tcp-*")] == [f"ndm-tcp-{version}"]
    for name in BINARY:
        assert chroot.run(f"dpkg-query --show --showformat '${{Version}}' {name}").stdout == version
    # what is linked and what it runs is there, by the dependencies alone
    assert "not found" not in chroot.run("ldd /usr/sbin/ndmctl").stdout
    for program in ("ip", "ss", "modprobe", "rmmod"):
        chroot.run(f"command -v {program}")
    assert re.findall(r"^\w+", chroot.run("ndmctl models").stdout, re.MULTILINE) == ["eight", "mixed"]
    chroot.run("ndmctl verify /usr/lib/ndm/models/mixed.bin")
    assert re.search(r"^ok +/usr/lib/ndm/ndm.bpf.o", chroot.run("ndmctl doctor").stdout, re.MULTILINE)


@pytest.mark.timeout(1800)
def test_packages_are_installed_upgraded_removed_and_purged(old: Path, new: Path, tmp_path: Path) -> None:
    chroot = unpack_chroot(tmp_path / "system")
    assert named(chroot) == set()
    chroot.install(HEADERS, *give(chroot, old))
    check_installed(chroot, OLD)
    assert modinfo(chroot, "signer") == "", "DKMS signs with openssl"

    # the unit and the manual
    chroot.install("man-db", "openssl", "systemd")
    assert chroot.run("systemctl is-enabled ndm.service", check=False).stdout.strip() == "disabled"
    assert chroot.run("systemd-analyze verify --man=no ndm.service").stdout == ""
    page = "/usr/share/man/man8/ndmctl.8.gz"
    assert chroot.run(f"MANWIDTH=80 man --warnings --encoding=UTF-8 --local-file {page} 2>&1 >/dev/null").stdout == ""
    # what the administrator has enabled is so after an upgrade
    chroot.run("systemctl enable ndm.service")

    chroot.install(*give(chroot, new))
    check_installed(chroot, NEW)
    assert modinfo(chroot, "signer") == "DKMS module signing key"
    assert chroot.run("systemctl is-enabled ndm.service").stdout.strip() == "enabled"

    chroot.run(f"apt-get remove --yes {' '.join(BINARY)}")
    assert dkms(chroot) == []
    assert chroot.run("command -v ndmctl", check=False).returncode != 0
    # until it is purged, the system remembers that the unit was enabled
    assert all(path.startswith(("etc/systemd/", "var/lib/systemd/")) for path in named(chroot))
    chroot.run(f"apt-get purge --yes {' '.join(BINARY)}")
    assert named(chroot) == set()
    left = chroot.files()

    # what has other names, too, is gone after a second time
    chroot.install(*give(chroot, new))
    chroot.run(f"apt-get purge --yes {' '.join(BINARY)}")
    assert chroot.files() == left


@pytest.mark.timeout(1800)
def test_source_package_builds_in_a_clean_system(old: Path, tmp_path: Path) -> None:
    chroot = unpack_chroot(tmp_path / "system")
    (chroot.root / "build").mkdir()
    for file in (*old.glob("*.dsc"), *old.glob("*.tar.xz")):
        shutil.copy(file, chroot.root / "build")
    (description,) = old.glob("*.dsc")
    chroot.run(f"cd /build && apt-get build-dep --yes --no-install-recommends ./{description.name}")
    chroot.run(f"cd /build && dpkg-source -x {description.name} tree && cd tree && dpkg-buildpackage --no-sign -b")
    for name in BINARY:
        assert contents(package(chroot.root / "build", name)) == contents(package(old, name)), name
