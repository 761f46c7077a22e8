# SPDX-License-Identifier: GPL-2.0
"""Write the patch series for the kernel's own tree, and check it. It is sent nowhere.

make series                           against the newest kernel source of the distribution's backports
make series KERNEL_SRC=/src/net-next  against a tree of your own, which does not change

The patches go to build/series/. Each is checked with the tree's checkpatch --strict, and the whole series is built
there for x86-64 with warnings as errors; HTML=1 renders its documentation, too (needs sphinx-build).
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from env.checkout import BUILD
from kernel.ports.trees import Apt, Package, PortsError
from kernel.series import mainline
from kernel.series.patches import COVER, COVER_SUBJECT, PATCHES, Patch

FILES = Path(__file__).parent / "files"
OUTPUT = BUILD / "series"
WIDTH = 72
# files of the tree that patches change
CHANGED = ("MAINTAINERS", "net/ipv4/Kconfig", "net/ipv4/Makefile", "Documentation/networking/index.rst")
# files beside which patches add others
ADDED = ("Documentation/ABI/testing/sysfs-module-tcp_ndm", "Documentation/networking/tcp_ndm.rst")
# what a kernel needs to build the modules, besides `make allnoconfig`
OPTIONS = (
    "64BIT", "MODULES", "NET", "INET", "SYSFS", "SECURITY", "FTRACE", "TCP_CONG_ADVANCED", "KUNIT", "WERROR",
)  # fmt: skip


class SeriesError(RuntimeError):
    """The series cannot be made or has a fault. The message is for the user."""


def find_tree(given: str) -> Path:
    """Return a kernel's source: the given one, or that of the newest kernel in the backports, from the cache."""
    if given:
        tree = Path(given)
        if not (tree / "net/ipv4/Kconfig").is_file():
            raise SeriesError(f"KERNEL_SRC={given} is no source tree of Linux: it has no net/ipv4/Kconfig")
        return tree
    apt = Apt()
    major = re.match(r"\d+\.\d+", apt.newest_release())
    assert major is not None
    name = f"linux-source-{major[0]}"
    package = Package(name, apt.versions([name])[name], "all")
    tree = apt.cache / f"{name}-{package.version}"
    if not tree.is_dir():
        print(f"series: downloads {package}, 170 MB", flush=True)
        with tempfile.TemporaryDirectory(dir=apt.cache) as folder:
            work = Path(folder)
            (archive,) = apt.download([package], work)
            _run(["dpkg-deb", "--extract", str(archive), str(work / "root")])
            (work / "tree").mkdir()
            source = work / f"root/usr/src/{name}.tar.xz"
            _run(["tar", "-xf", str(source), "-C", str(work / "tree"), "--strip-components=1"])
            (work / "tree").rename(tree)
    return tree


def write_patches(tree: Path, output: Path) -> list[Path]:
    """Write the cover letter and the patches; return their paths."""
    author = {name: _run(["git", "config", f"user.{name}"]).strip() for name in ("name", "email")}
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    sources = mainline.files()
    if missing := set(sources) ^ {name for patch in PATCHES for name in patch.adds}:
        raise SeriesError(f"not in exactly one patch: {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in CHANGED:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree / name, work / name)
        git = ["git", "-C", str(work), "-c", f"user.name={author['name']}", "-c", f"user.email={author['email']}"]
        _run([*git, "init", "-q"])
        _commit(git, "the tree")
        for patch in PATCHES:
            for name in patch.adds:
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(sources[name])
            for name in patch.inserts:
                _insert(work, tree, name, author)
            _commit(git, f"{patch.subject}\n\n{_wrapped(patch)}", "-s")
        subject = ["--cover-letter", "--subject-prefix=PATCH net-next"]
        _run([*git, "format-patch", "-q", *subject, f"-{len(PATCHES)}", "-o", str(output)])
    patches = sorted(output.glob("*.patch"))
    cover = patches[0].read_text().replace("*** SUBJECT HERE ***", COVER_SUBJECT)
    blurb = "\n\n".join(textwrap.fill(paragraph, WIDTH) for paragraph in COVER.split("\n\n"))
    patches[0].write_text(cover.replace("*** BLURB HERE ***", blurb.rstrip()))
    return patches


def check_patches(tree: Path, patches: list[Path]) -> list[str]:
    """Return what checkpatch --strict says of the patches."""
    command = ["perl", str(tree / "scripts/checkpatch.pl"), f"--root={tree}", "--strict", "--terse", "--no-summary"]
    faults = []
    for patch, file in zip(PATCHES, patches[1:], strict=True):
        # MAINTAINERS has the folder since the first patch; scales and limits are numbers, not bits
        ignore = ",".join(["FILE_PATH_CHANGES", "BIT_MACRO", *patch.ignore])
        done = subprocess.run([*command, "--ignore", ignore, str(file)], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SeriesError(f"checkpatch: {done.stderr}")
        faults += [line for line in done.stdout.splitlines() if line.strip()]
    return faults


def build(tree: Path, patches: list[Path], work: Path) -> None:
    """Apply the patches to a copy of the tree and build it after those that add objects, each warning an error."""
    source, objects = work / "source", work / "objects"
    _mirror(tree.resolve(), source)
    make = ["make", "-s", "-C", str(source), f"O={objects}", f"-j{os.cpu_count()}"]
    for number, patch in enumerate(patches[1:], 1):
        # not `git apply`, which skips files in a folder that another repository ignores
        _run(["patch", "--quiet", "--strip=1", f"--directory={source}", f"--input={patch}"])
        if not {"Makefile", "Makefile.kunit"} & set(PATCHES[number - 1].inserts):
            continue
        _run([*make, "allnoconfig"])
        chosen = [option for name in OPTIONS for option in ("--enable", name)]
        chosen += ["--module", "TCP_CONG_NDM", "--module", "TCP_CONG_NDM_KUNIT_TEST"]
        _run([str(source / "scripts/config"), "--file", str(objects / ".config"), *chosen])
        _run([*make, "olddefconfig"])
        configuration = (objects / ".config").read_text()
        for needed in ("TCP_CONG_NDM=m", "FW_LOADER=y", "CRYPTO_LIB_SHA256=y"):
            if f"CONFIG_{needed}\n" not in configuration:
                raise SeriesError(f"Kconfig does not give CONFIG_{needed}")
        _run([*make, "W=1", "net/ipv4/ndm/"])


def _mirror(tree: Path, source: Path, inside: str = "") -> None:
    """Make a copy of the tree of links, but for the files that patches change and the folders of what they add."""
    real = {str(parent) for name in (*CHANGED, *ADDED) for parent in Path(name).parents}
    (source / inside).mkdir()
    for entry in (tree / inside).iterdir():
        name = str(entry.relative_to(tree))
        if name in real:
            _mirror(tree, source, name)
        elif name in CHANGED:
            shutil.copyfile(entry, source / name)
        else:
            (source / name).symlink_to(entry)


def render_html(work: Path) -> None:
    """Render the documentation with the kernel's own rules. A warning about NDM's pages is an error."""
    command = ["make", "-s", "-C", str(work / "source"), f"O={work / 'objects'}", "SPHINXDIRS=networking"]
    done = subprocess.run([*command, "htmldocs"], capture_output=True, text=True, check=False)
    pages = list((work / "objects").glob("Documentation/output/**/tcp_ndm.html"))
    faults = [line for line in done.stderr.splitlines() if "ndm" in line.lower()]
    if done.returncode or faults or not pages:
        raise SeriesError("make htmldocs: " + ("\n".join(faults) or done.stderr[-2000:]))


def _insert(work: Path, tree: Path, name: str, author: dict[str, str]) -> None:
    """Add a text of files/ to the tree, in its place."""
    version = re.search(r"^VERSION = (\d+)\nPATCHLEVEL = (\d+)", (tree / "Makefile").read_text(), re.MULTILINE)
    assert version is not None
    values = {
        "@NAME@": author["name"],
        "@EMAIL@": author["email"],
        "@DATE@": f"{datetime.date.today():%B %Y}",
        "@VERSION@": f"{version[1]}.{int(version[2]) + 1}",
    }

    def text() -> str:
        content = (FILES / name).read_text()
        for key, value in values.items():
            content = content.replace(key, value)
        return content

    def before(file: str, pattern: str, added: str) -> None:
        content = (work / file).read_text()
        match = re.search(pattern, content, re.MULTILINE)
        if match is None:
            raise SeriesError(f"{file} of the tree has no line {pattern!r}: its place has to be found anew")
        (work / file).write_text(content[: match.start()] + added + content[match.start() :])

    folder = work / mainline.FOLDER
    if name == "MAINTAINERS":
        before(name, r"^NE(?=[A-Z0-9])|^NF", text())
    elif name in ("Kconfig", "Kconfig.kunit"):
        before("net/ipv4/Kconfig", r"^choice\n\tprompt \"Default TCP congestion control\"", text())
    elif name == "subdirectory":
        before("net/ipv4/Makefile", r"^obj-\$\(CONFIG_TCP_CONG_NV\)", "obj-$(CONFIG_TCP_CONG_NDM) += ndm/\n")
    elif name == "Makefile":
        (folder / "Makefile").write_text(text())
    elif name == "Makefile.kunit":
        (folder / "Makefile").write_text((folder / "Makefile").read_text() + text())
    elif name == "index":
        before("Documentation/networking/index.rst", r"^   tcp-thin$", "   tcp_ndm\n")
    else:
        place = "Documentation/networking" if name.endswith(".rst") else "Documentation/ABI/testing"
        (work / place).mkdir(parents=True, exist_ok=True)
        (work / place / name).write_text(text())


def _commit(git: list[str], message: str, *options: str) -> None:
    _run([*git, "add", "--all"])
    _run([*git, "commit", "-q", *options, "-m", message])


def _wrapped(patch: Patch) -> str:
    paragraphs = (paragraph.replace("\n", " ") for paragraph in patch.body.split("\n\n"))
    return "\n\n".join(textwrap.fill(paragraph, WIDTH) for paragraph in paragraphs)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SeriesError(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-5000:]}")
    return done.stdout


def main() -> int:
    """Write and check the series; return 1 with the faults on stderr."""
    parser = argparse.ArgumentParser(prog="python -m kernel.series.build", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tree", default=os.environ.get("KERNEL_SRC", ""), help="a source tree of Linux")
    parser.add_argument("--html", action="store_true", help="render the documentation, too")
    arguments = parser.parse_args()
    try:
        if arguments.html and not shutil.which("sphinx-build"):
            raise SeriesError("HTML=1 needs sphinx-build: pip install sphinx pyyaml, and have it in PATH")
        tree = find_tree(arguments.tree)
        patches = write_patches(tree, OUTPUT)
        print("\n".join(str(patch) for patch in patches))
        if faults := check_patches(tree, patches):
            raise SeriesError("checkpatch --strict:\n" + "\n".join(faults))
        print("series: checkpatch --strict has nothing to say", flush=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            build(tree, patches, Path(folder))
            print("series: the modules build with W=1, each warning an error", flush=True)
            if arguments.html:
                render_html(Path(folder))
                print("series: make htmldocs has nothing to say about them")
    except (SeriesError, PortsError) as error:
        print(f"series: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
