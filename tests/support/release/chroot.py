"""A clean system of this machine's own release in a folder, for tests that install packages; root only.

debootstrap makes it once, from the mirrors of this machine's apt. $NDM_CACHE/chroot keeps it as a tarball. It has
the lists of apt, and the packages named in KEPT, downloaded but not installed. It has less than the base system of
packaging/hosts/chroot.sh, in which iproute2, kmod and openssl would hide what a package forgets to depend on.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import shlex
import subprocess
import tempfile
from pathlib import Path

from env.checkout import cache_folder
from tests.support.tools import find_tool

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
DISTRIBUTION = platform.freedesktop_os_release()
RELEASE = DISTRIBUTION["VERSION_CODENAME"]
HEADERS = f"linux-headers-{'generic' if DISTRIBUTION['ID'] == 'ubuntu' else ARCHITECTURE}"
KEPT = ["dkms", HEADERS, "iproute2", "kmod", "man-db", "openssl", "systemd"]
PROXIES = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}


class Chroot:
    """A system in a folder. Each command has its own mounts and processes, so that none is left behind."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell command in it; output and errors come in stdout. Raises AssertionError with them if it fails."""
        root = shlex.quote(str(self.root))
        inside = f"mount -t proc proc {root}/proc && exec chroot {root} sh -c"
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", f"{inside} {shlex.quote(command)}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": "/root",
                "LC_ALL": "C.UTF-8",
                "DEBIAN_FRONTEND": "noninteractive",
                **PROXIES,
            },
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}"
        return done

    def install(self, *packages: str) -> str:
        """Install packages, or files of packages, with what they depend on and no more; returns apt's output."""
        return self.run(f"apt-get install --yes --no-install-recommends {shlex.join(packages)}").stdout

    def files(self) -> set[str]:
        """Return all paths in it, without what programs cache, log and count."""
        volatile = ("var/cache/", "var/log/", "var/lib/apt/", "var/lib/dpkg/", "var/backups/", "proc/", "tmp/", "root/")
        paths = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return {path for path in paths if not path.startswith(volatile)}


def unpack_chroot(folder: Path) -> Chroot:
    """Unpack the clean system into a folder, which does not exist yet; make it first if the cache has none."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-C", folder, "-xzf", _tarball()], check=True)
    return Chroot(folder)


def _sources() -> list[str]:
    """Return this machine's sources of its own release, as lines of sources.list."""
    command = ["apt-get", "indextargets", "--format", "deb $(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    suites = {RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security"}
    own = sorted({line for line in lines if line.split()[2] in suites})
    assert any(line.split()[2] == RELEASE for line in own), f"apt has no source of {RELEASE}, this machine's release"
    return own


def _tarball() -> Path:
    sources = _sources()
    known = "\n".join([ARCHITECTURE, *sources, *KEPT, inspect.getsource(_make)])
    tarball = cache_folder("chroot") / f"{RELEASE}-{hashlib.sha256(known.encode()).hexdigest()[:16]}.tar.gz"
    if not tarball.exists():
        tarball.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tarball.parent) as folder:
            packed = Path(folder) / "packed"
            _make(Path(folder) / "root", sources)
            subprocess.run(["tar", "-C", f"{folder}/root", "-c", "-I", "gzip -1", "-f", packed, "."], check=True)
            packed.rename(tarball)
    return tarball


def _make(root: Path, sources: list[str]) -> None:
    mirror = next(line.split()[1] for line in sources if line.split()[2] == RELEASE)
    components = ",".join(sorted({line.split()[3] for line in sources}))
    debootstrap = [find_tool("debootstrap", "release"), "--variant=minbase", f"--components={components}"]
    subprocess.run([*debootstrap, RELEASE, root, mirror], check=True, stdout=subprocess.DEVNULL)
    (root / "etc/apt/sources.list").write_text("".join(f"{line}\n" for line in sources))
    proxy = subprocess.run(["apt-config", "dump", "Acquire::http"], capture_output=True, text=True, check=True).stdout
    (root / "etc/apt/apt.conf.d/90test").write_text(proxy)
    (root / "etc/resolv.conf").write_text(Path("/etc/resolv.conf").read_text())
    chroot = Chroot(root)
    chroot.run("apt-get update --quiet && apt-get upgrade --yes")
    chroot.run(f"apt-get install --yes --no-install-recommends --download-only {shlex.join(KEPT)}")
