"""A distribution's kernel for the VM lab: the package is downloaded and unpacked, not installed.

    python -m env.lab.stock.kernel [VERSION ...]        # 6.1 and 6.12 by default; `make vm-kernel` runs it

The command also builds the project's modules for the kernel, into build/modules/RELEASE. `make vm-newest` does the same
for the newest kernel (kernel/ports/newest.py), whose version is called `newest`.

A kernel is stored in $NDM_CACHE/stock-kernel/RELEASE-HASH (default ~/.cache/ndm-tcp); the hash covers the packages'
versions and everything that goes into the initramfs. build/stock-kernel/VERSION links to it. The release is that of the
newest headers in /usr/src, so that the modules can be built. The initramfs is virtme-ng's, with busybox and the modules
that mount the host's file system.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from env.checkout import BUILD, KERNEL, MODEL_BUILD, cache_folder
from env.command import command
from env.errors import UserError
from env.lab.errors import LabMissing

LINKS = BUILD / "stock-kernel"
HEADERS = Path("/usr/src")
BUSYBOX = Path("/usr/bin/busybox")
VERSIONS = ("6.1", "6.12")
NEWEST = "newest"  # of Debian's next release; kernel/ports/newest.py fetches it
# for the root file system and the agent's port
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "virtio_console")


class StockKernel:
    """A kernel that has been fetched.

    image, initramfs: the files that QEMU boots. root: a folder whose lib/modules holds the kernel's modules. modules:
    the folder of the project's modules, built for this kernel. headers: what they are built with. target: the make
    target that fetches it.
    Raises LabMissing when the kernel has not been fetched.
    """

    def __init__(self, version: str) -> None:
        self.target = "vm-newest" if version == NEWEST else "vm-kernel"
        folder = LINKS / version
        manifest = folder / "manifest.json"
        if not manifest.is_file():
            raise LabMissing(
                f"{manifest} does not exist: run `make vm-kernel` for {' and '.join(VERSIONS)}, `make vm-newest` for "
                f"{NEWEST}, or `python -m env.lab.stock.kernel VERSION` for another kernel of the distribution"
            )
        self.version = version
        self.release: str = json.loads(manifest.read_text())["release"]
        self.root = folder.resolve() / "root"
        self.image = self.root / "boot" / f"vmlinuz-{self.release}"
        self.initramfs = folder.resolve() / "initramfs"
        self.modules = MODEL_BUILD / "modules" / self.release
        self.headers = HEADERS / f"linux-headers-{self.release}"


def find_release(version: str) -> str:
    """Return the newest release of a version whose headers are installed, such as 6.1.0-56-amd64."""
    releases = {}
    for folder in HEADERS.glob(f"linux-headers-{version}[.-]*-amd64"):
        release = folder.name.removeprefix("linux-headers-")
        if (folder / "Makefile").is_file() and not re.search("-(rt|cloud)-", release):
            releases[tuple(int(number) for number in re.findall(r"\d+", release))] = release
    if not releases:
        package = "linux-headers-amd64" if version == "6.1" else f"linux-headers-{version}-amd64"
        raise UserError(f"{HEADERS} has no headers of Linux {version}: install the package {package}")
    return releases[max(releases)]


def fetch(version: str) -> Path:
    """Fetch a kernel of the distribution unless it is in the cache, link to it in build/ and return its folder."""
    release = find_release(version)
    package = f"linux-image-{release}"
    shown = _run(["apt-cache", "show", "--no-all-versions", package]).stdout
    match = re.search(r"^Version: (\S+)$", shown, re.MULTILINE)
    if match is None:
        raise UserError(
            f"the distribution offers no {package} (any more), but its headers are installed: `apt-get update`, then "
            f"install the current headers"
        )
    return store(
        version, release, {package: match[1]}, lambda folder: _run(["apt-get", "download", "-q", package], cwd=folder)
    )


def store(version: str, release: str, packages: dict[str, str], download: Callable[[Path], object]) -> Path:
    """Store a kernel unless it is in the cache, link to it in build/ and return its folder.

    packages: those that have its image and modules, with their versions. download: puts them into an empty folder.
    """
    recipe = f"{packages} {importlib.metadata.version('virtme-ng')} {Path(__file__).read_text()}"
    key = hashlib.sha256(recipe.encode() + BUSYBOX.read_bytes()).hexdigest()[:12]
    cache = cache_folder("stock-kernel")
    entry = cache / f"{release}-{key}"
    if not (entry / "manifest.json").is_file():
        cache.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="fetch-", dir=cache))
        try:
            (work / "packages").mkdir()
            download(work / "packages")
            _unpack(work / "packages", work / "root", release)
            _make_initramfs(work / "root", release, work / "initramfs")
            manifest = {"packages": packages, "release": release}
            (work / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
            work.chmod(0o755)
            work.rename(entry)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    LINKS.mkdir(parents=True, exist_ok=True)
    temporary = LINKS / f".{version}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(entry)
    temporary.rename(LINKS / version)
    return entry


def _unpack(packages: Path, root: Path, release: str) -> None:
    """Unpack a kernel's packages into the folder `root`, with the modules in lib/ and the image in boot/."""
    for archive in packages.glob("*.deb"):
        _run(["dpkg-deb", "--extract", str(archive), str(root)])
    shutil.rmtree(packages)
    if (root / "usr/lib/modules").is_dir():  # newer packages have everything there, the image too
        (root / "usr/lib").rename(root / "lib")
        (root / "boot").mkdir()
        (root / "lib/modules" / release / "vmlinuz").rename(root / "boot" / f"vmlinuz-{release}")
    shutil.rmtree(root / "usr", ignore_errors=True)  # documentation


def _make_initramfs(root: Path, release: str, file: Path) -> None:
    from virtme import mkinitramfs, modfinder  # of setup/requirements/vm.txt

    _run(["depmod", "-b", str(root), release])
    configuration = mkinitramfs.Config()
    configuration.busybox = str(BUSYBOX)
    # the host's files do not change during a guest's life: it reads each one once
    configuration.access = "ro,cache=loose"
    with tempfile.TemporaryDirectory() as folder:
        for module in modfinder.find_modules_from_install(BOOT_MODULES, root=str(root), kver=release):
            plain = Path(folder) / Path(module).name.removesuffix(".xz")
            content = Path(module).read_bytes()
            plain.write_bytes(lzma.decompress(content) if module.endswith(".xz") else content)
            configuration.modfiles.append(str(plain))
        with file.open("wb") as archive:
            mkinitramfs.mkinitramfs(archive, configuration)


def build_modules(release: str, kdir: Path) -> Path:
    """Build the project's modules for a release with its headers; returns their folder."""
    folder = MODEL_BUILD / "modules" / release
    _run([str(KERNEL / "build.sh"), str(folder), str(kdir)])
    return folder


def _run(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    # depmod and modprobe are in folders that are not on every user's path
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}
    try:
        return subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise UserError(f"{command[0]} is missing: run `make vm-kernel`") from None
    except subprocess.CalledProcessError as error:
        raise UserError(f"{' '.join(command)}: {error.stderr.strip() or error.returncode}") from None


@command("error")
def main(argv: Sequence[str] | None = None) -> int:
    """Fetch kernels, build the modules for them, and print the folders; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("versions", nargs="*", metavar="VERSION", default=VERSIONS, help="default: 6.1 6.12")
    arguments = parser.parse_args(argv)
    for version in arguments.versions:
        print(f"stock kernel {version}: {fetch(version)}", flush=True)
        release = find_release(version)
        print(f"its modules: {build_modules(release, HEADERS / f'linux-headers-{release}')}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
