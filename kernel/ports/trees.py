# SPDX-License-Identifier: GPL-2.0
"""Kernel trees that this machine does not run, to build the modules for: another architecture, or a newer Linux.

These are Debian's header packages, downloaded and unpacked but not installed: for arm64 the kernels whose amd64 headers
are in /usr/src, and for both architectures the newest kernel of the next release's backports. A tree is in
$NDM_CACHE/ports/HASH (default ~/.cache/ndm-tcp); the hash covers the packages' versions and this file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from env.checkout import cache_folder
from env.errors import UserError
from env.lab.stock.kernel import HEADERS, VERSIONS, find_release

SOURCES = Path("/etc/apt/sources.list.d")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PREFIX = {"amd64": "x86_64-linux-gnu-", "arm64": "aarch64-linux-gnu-"}  # architecture -> prefix of its compiler
NEXT, BACKPORTS = "trixie", "trixie-backports"  # the release after bookworm; its libraries run its backports
# libraries of the programs that build modules for the newer kernel
LIBRARIES = ("libc6", "libelf1t64", "libssl3t64", "libzstd1", "zlib1g")
INTERPRETER = "ld-linux-x86-64.so.2"


@dataclass(frozen=True)
class Tree:
    """Headers to build for. release: as in uname -r. sparse: whether this machine's sparse can read them."""

    release: str
    kdir: Path
    sparse: bool


@dataclass(frozen=True)
class Package:
    """A package in one version."""

    name: str
    version: str
    architecture: str = "amd64"

    def __str__(self) -> str:
        return f"{self.name}:{self.architecture}={self.version}"


def find_trees() -> list[Tree]:
    """Return the trees; download those that are not in the cache. Raises UserError."""
    apt = Apt()
    trees = []
    for version in VERSIONS:
        headers = _for_arm64(version)
        entry = _fetch(apt, [headers], [])
        trees.append(Tree(headers.name.removeprefix("linux-headers-"), entry / f"usr/src/{headers.name}", sparse=True))
    return trees + newest_trees(apt)


def newest_trees(apt: Apt) -> list[Tree]:
    """Return the trees of the newest kernel, for amd64 and arm64; download them if needed. Raises UserError."""
    newest = apt.newest_release()
    common, kbuild = f"linux-headers-{newest}-common", f"linux-kbuild-{newest}"
    versions = apt.versions([common, kbuild, *LIBRARIES])
    packages = [Package(name, versions[name]) for name in (common, kbuild)]
    packages += [
        Package(f"linux-headers-{newest}-{architecture}", versions[common], architecture) for architecture in PREFIX
    ]
    entry = _fetch(apt, packages, [Package(name, versions[name]) for name in LIBRARIES])
    releases = [f"{newest}-{architecture}" for architecture in PREFIX]
    # bookworm's sparse does not know __typeof_unqual__
    return [Tree(release, entry / f"usr/src/linux-headers-{release}", sparse=False) for release in releases]


class Apt:
    """apt with its own lists of suites and architectures; the machine's lists do not change.

    cache: the folder of the lists and the trees. Raises UserError when a tool is missing.
    """

    def __init__(self) -> None:
        for tool, package in (("apt-get", "apt"), ("patchelf", "patchelf")):
            if shutil.which(tool) is None:
                raise UserError(f"{tool} is missing: install the package {package}")
        self.cache = cache_folder("ports")
        folder = self.cache / "apt"
        for name in ("lists/partial", "archives/partial", "sources"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        site, options = self._site(), f"[signed-by={KEYRING}]"
        newer = "".join(f"deb {options} {site} {suite} main\n" for suite in (NEXT, BACKPORTS))
        (folder / "sources" / "newer.list").write_text(newer)
        for file in [*SOURCES.glob("*.list"), *SOURCES.glob("*.sources")]:
            link = folder / "sources" / file.name
            link.unlink(missing_ok=True)
            link.symlink_to(file)
        (folder / "status").touch()  # no package counts as installed
        (folder / "apt.conf").write_text(
            f'Dir::State::lists "{folder}/lists";\nDir::State::status "{folder}/status";\nDir::Cache "{folder}";\n'
            f'Dir::Etc::sourceparts "{folder}/sources";\nAPT::Architectures {{"amd64"; "arm64";}};\n'
            f'APT::Sandbox::User "root";\nAcquire::Languages "none";\n'
        )
        self._environment = os.environ | {"APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}
        self._run(["apt-get", "update", "-q"])

    def newest_release(self) -> str:
        """Return the release of the newest kernel in the backports, without its architecture: 7.3.4+deb13."""
        text = self._run(["apt-cache", "show", "linux-headers-amd64"])
        releases: list[str] = re.findall(r"linux-headers-(\d[^ ]*)-amd64 \(=", text)
        if not releases:
            raise UserError(f"the suite {BACKPORTS} has no linux-headers-amd64")
        return max(releases, key=lambda release: [int(number) for number in re.findall(r"\d+", release)])

    def versions(self, packages: Sequence[str]) -> dict[str, str]:
        """Return the newest version of each package."""
        text = self._run(["apt-cache", "show", "--no-all-versions", *packages])
        versions = {}
        for paragraph in text.split("\n\n"):
            facts: dict[str, str] = dict(re.findall(r"^(Package|Version): (\S+)$", paragraph, re.MULTILINE))
            if facts:
                versions[facts["Package"]] = facts["Version"]
        if missing := set(packages) - versions.keys():
            raise UserError(f"the suites {NEXT} and {BACKPORTS} have no {' and '.join(sorted(missing))}")
        return versions

    def download(self, packages: Sequence[Package], folder: Path) -> list[Path]:
        """Download packages into an empty folder."""
        self._run(["apt-get", "download", "-q", *map(str, packages)], folder)
        return sorted(folder.glob("*.deb"))

    def _run(self, command: list[str], cwd: Path | None = None) -> str:
        return _run(command, cwd, self._environment)

    @staticmethod
    def _site() -> str:
        """Return the URL of the machine's Debian archive, which has the other suites, too."""
        targets = _run(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"])
        match = re.search(r"^Debian (\S+)$", targets, re.MULTILINE)
        if match is None or not KEYRING.is_file():
            raise UserError("this machine's apt has no Debian archive, where these trees come from: run it on Debian")
        return match[1]


def _for_arm64(version: str) -> Package:
    """Return the arm64 package of the newest amd64 headers of a version in /usr/src."""
    release = find_release(version)
    built = _run(["dpkg-query", "-W", "-f=${Version}", f"linux-headers-{release}"])
    return Package(f"linux-headers-{release.removesuffix('-amd64')}-arm64", built, "arm64")


def _fetch(apt: Apt, packages: Sequence[Package], libraries: Sequence[Package]) -> Path:
    """Return a folder with the packages' usr/src, ready to build modules for.

    libraries: packages of the libraries that the programs in a kbuild package use.
    """
    recipe = "\n".join([Path(__file__).read_text(), *map(str, [*packages, *libraries])])
    entry = apt.cache / hashlib.sha256(recipe.encode()).hexdigest()[:16]
    if (entry / "usr").is_dir():
        return entry
    work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=apt.cache))
    try:
        (work / "debs").mkdir()
        for archive in apt.download([*packages, *libraries], work / "debs"):
            _run(["dpkg-deb", "--extract", str(archive), str(work / "tree")])
        for folder in (work / "tree/usr/src").glob("linux-headers-*-a*64"):
            _adapt(folder, entry)
        for program in (work / "tree/usr/lib").glob("linux-kbuild-*/**/*"):
            _link(program, entry / "usr/lib/x86_64-linux-gnu")
        work.chmod(0o755)
        (work / "tree").rename(entry)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return entry


def _adapt(folder: Path, entry: Path) -> None:
    """Make headers refer to their future folder and to this machine's compiler."""
    release = re.sub(r"^linux-headers-|-a\w+64$", "", folder.name)
    makefile = folder / "Makefile"
    if (folder.parent / f"linux-headers-{release}-common").is_dir():
        makefile.write_text(makefile.read_text().replace("/usr/src/", f"{entry}/usr/src/"))
    else:
        # parts that are the same for every architecture are installed on the machine
        for name in ("scripts", "tools"):
            link = folder / name
            target = os.path.normpath(HEADERS / "any" / os.readlink(link))
            link.unlink()
            link.symlink_to(target)
    variables = folder / ".kernelvariables"
    prefix = PREFIX[folder.name.rpartition("-")[2]]
    text = re.sub(r"\(CROSS_COMPILE\)gcc-\d+", "(CROSS_COMPILE)gcc", variables.read_text())
    variables.write_text(f"{text}override CROSS_COMPILE = {prefix}\n")
    # used for debug types, which need the pahole that built the kernel
    (folder / "vmlinux").unlink(missing_ok=True)
    # the configuration states an option of gcc 14
    test = ["gcc", "-fmin-function-alignment=8", "-fsyntax-only", "-x", "c", "/dev/null"]
    if subprocess.run(test, capture_output=True, check=False).returncode:
        configuration = folder / "include/config/auto.conf"
        configuration.write_text(configuration.read_text().replace("CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=y\n", ""))


def _link(program: Path, libraries: Path) -> None:
    """Make a newer distribution's program run here, with that distribution's libraries."""
    if program.is_symlink() or not program.is_file() or program.open("rb").read(4) != b"\x7fELF":
        return
    _run(["patchelf", "--set-interpreter", str(libraries / INTERPRETER), "--set-rpath", str(libraries), str(program)])


def _run(command: list[str], cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
