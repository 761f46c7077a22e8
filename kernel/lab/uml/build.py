#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Build the lab kernel: user-mode Linux in virtual time, from the distribution's kernel source.

    make lab-kernel                        # linux-source-6.12, or the newest from 6.1 to 7.x that is installed
    make lab-kernel KERNEL_SRC=PATH        # an unpacked tree or a tarball
    make lab-kernel KERNEL_SRC=PATH KERNEL=bbr3    # a second one by this name, build/lab-kernels/bbr3
    make sanitizer                         # a second kernel, with KASAN, UBSAN, lockdep, kmemleak and KUnit

The result is written to $NDM_CACHE/lab-kernel/HASH (default ~/.cache/ndm-tcp). The hash covers source, patches,
configuration, recipe and compiler. A link in build/ points to it. Standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PATCHES = sorted((HERE / "patches").glob("*.patch"))
SCRIPTS = HERE / "scripts.config"  # options that a kernel may lack
COMPILER, HEADERS = HERE / "cc.sh", HERE / "lab_headers.h"  # gcc, and what it reads precompiled; copied into the tree
OLDEST, NEWEST = (6, 1), (7, 99)
PREFERRED = (6, 12)
RECIPE = "3"  # raise it when this program builds a different kernel from the same inputs
# options by other names in newer kernels, from 7.3 and from 6.10 on
RENAMED = {"CONFIG_PROC_SYSCTL=y": "CONFIG_SYSCTL=y", "CONFIG_BASE_FULL=y": "# CONFIG_BASE_SMALL is not set"}
USUAL_OBJECTS = 1180  # compiled files of a 6.12 build, for the progress line only
# In a tarball: sources, not Kconfig files and Makefiles, of what a lab has nothing of.
UNNEEDED = (
    *("Documentation/[!K]*", "arch/[!uxK]*.[chS]", "arch/*.dts*", "drivers/[!bcnt]*.[chS]"),
    *("drivers/net/[!bitvw]*/*.[chS]", "drivers/net/w[!i]*/*.[chS]", "drivers/net/wireless/*.[chS]"),
    *("sound/*.[chS]", "tools/perf/*", "tools/testing/*"),
)
DRIVERS = {"base/", "char/", "net/", "tty/"}  # the folders of drivers/ that a lab needs
# The version string seeds the random pool, so it must not contain the build's time or host.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "ndm",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "MAKEFLAGS": "",  # of the make that calls this program
}


@dataclass(frozen=True)
class Variant:
    """A lab kernel. configs: fragments on top of allnoconfig, later ones win. link: name of the link in build/."""

    configs: tuple[Path, ...]
    link: str

    def text(self, without: Path | None = None) -> str:
        """Return all fragments as one."""
        return "\n".join(config.read_text() for config in self.configs if config != without)


VARIANTS = {
    "lab": Variant((HERE / "lab.config", SCRIPTS), "lab-kernel"),
    "sanitizer": Variant((HERE / "lab.config", HERE / "sanitizer.config"), "sanitizer-kernel"),
}


class BuildError(RuntimeError):
    """A build cannot start or has failed. The message says what to do."""


def find_source(given: str) -> Path:
    """Return the kernel source: `given` (KERNEL_SRC), else linux-source-6.12, else the newest supported one."""
    if given:
        path = Path(given).expanduser().resolve()
        if not path.exists():
            raise BuildError(f"KERNEL_SRC={given} does not exist: give an unpacked kernel tree or a tarball")
        return path
    tarballs = {}
    for file in Path("/usr/src").glob("linux-source-*.tar.*"):
        match = re.fullmatch(r"linux-source-(\d+)\.(\d+)(?:\.\d+)?\.tar\.\w+", file.name)
        if match and OLDEST <= (version := (int(match[1]), int(match[2]))) <= NEWEST:
            tarballs[version] = file
    if not tarballs:
        raise BuildError(
            f"no kernel source in /usr/src: install the package linux-source-{PREFERRED[0]}.{PREFERRED[1]} (`make "
            "setup` does), or give a tree or tarball of Linux 6.1 to 7.x with KERNEL_SRC="
        )
    return tarballs.get(PREFERRED) or tarballs[max(tarballs)]


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_source(source: Path) -> str:
    """Return a hash of the source: of a tarball's content, or of a tree's file names, sizes and change times."""
    if source.is_file():
        return digest_file(source)
    if not (source / "Makefile").is_file() or not (source / "arch" / "um").is_dir():
        raise BuildError(f"KERNEL_SRC={source} is not a kernel tree: Makefile or arch/um is missing")
    digest = hashlib.sha256(str(source).encode())
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            status = os.lstat(os.path.join(folder, name))
            digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def version_of(tree: Path) -> tuple[int, int]:
    """Return the version of an unpacked tree; raises BuildError outside 6.1 to 7.x."""
    text = (tree / "Makefile").read_text()
    numbers = [re.search(rf"^{name} = (\d+)", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL")]
    if None in numbers:
        raise BuildError(f"{tree / 'Makefile'} states no kernel version")
    version = (int(numbers[0][1]), int(numbers[1][1]))  # type: ignore[index]
    if not OLDEST <= version <= NEWEST:
        raise BuildError(f"the source is Linux {version[0]}.{version[1]}; the lab kernel is built from 6.1 to 7.x")
    return version


def unpack(source: Path, tree: Path) -> None:
    """Put the source into the folder `tree`."""
    say(f"unpacking {source}")
    if source.is_dir():
        subprocess.run(["cp", "-a", f"{source}/.", tree], check=True)
        subprocess.run(["make", "-s", "-C", tree, "ARCH=um", "mrproper"], check=True)
        return
    try:
        with tarfile.open(source) as archive:
            top = archive.next()
        if top is None:
            raise BuildError(f"{source} is an empty tarball")
    except tarfile.TarError as error:
        raise BuildError(f"{source} is not a tarball: {error}") from error
    without = [f"--exclude={top.name.partition('/')[0]}/{pattern}" for pattern in UNNEEDED]
    subprocess.run(
        ["tar", "-C", tree, "--strip-components=1", "--anchored", *without, "-xf", source],
        check=True,
        env=os.environ | {"XZ_DEFAULTS": "--threads=0"},
    )


def is_needed(patch_file: Path, tree: Path) -> bool:
    """Return whether the source needs the patch; a conditional one has the line ``Only where FILE says TEXT``."""
    condition = re.search(r"^Only where (\S+) says (.+)$", patch_file.read_text(), re.MULTILINE)
    return not condition or condition[2] in (tree / condition[1]).read_text()


def patch(tree: Path) -> None:
    """Apply the patches. Raises BuildError for one that does not apply."""
    for file in PATCHES:
        if not is_needed(file, tree):
            continue
        with file.open() as text:
            done = subprocess.run(
                ["patch", "-p1", "--no-backup-if-mismatch"], cwd=tree, stdin=text, capture_output=True, text=True
            )
        if done.returncode:
            raise BuildError(f"{file.name} does not apply to this source:\n{done.stdout}")


def make(tree: Path, *targets: str) -> list[str]:
    """Return the command line of a make in the tree."""
    return ["make", "-C", str(tree), "ARCH=um", "SUBARCH=x86_64", f"-j{os.cpu_count()}", *targets]


def configure(tree: Path, log: Path, variant: Variant) -> None:
    """Write .config. Raises BuildError if it lacks an option of the variant's fragments, but for SCRIPTS."""
    fragment = log.with_name("fragment.config")
    fragment.write_text("\n".join([variant.text(), *RENAMED.values()]))
    environment = os.environ | REPRODUCIBLE | {"KCONFIG_ALLCONFIG": str(fragment)}
    with log.open("a") as file:
        subprocess.run(make(tree, "allnoconfig"), check=True, env=environment, stdout=file, stderr=file)
    result = set((tree / ".config").read_text().splitlines())
    wanted = re.findall(r"^(CONFIG_\w+=.+)$", variant.text(without=SCRIPTS), re.MULTILINE)
    missing = [line for line in wanted if line not in result and RENAMED.get(line) not in result]
    unwanted = re.findall(r"^# (CONFIG_\w+) is not set$", variant.text(), re.MULTILINE)
    # a later fragment may want what an earlier one does not
    missing += [f"# {name} is not set" for name in unwanted if f"{name}=y" in result and f"{name}=y" not in wanted]
    if missing:
        names = " and ".join(config.name for config in variant.configs)
        raise BuildError(f"{names} sets options that this kernel does not have: {', '.join(missing)}")


def compile_kernel(tree: Path, log: Path, local_version: str) -> None:
    """Compile with a progress line; local_version: the end of uname -r. Raises BuildError with the log's last lines."""
    process = subprocess.Popen(
        # a file with the usual options first: it decides those of the precompiled headers
        make(tree, f"CC={tree / COMPILER.name}", "kernel/params.o", "all"),
        env=os.environ | REPRODUCIBLE | {"LOCALVERSION": local_version},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    objects, began, shown = 0, time.monotonic(), 0.0
    terminal = sys.stderr.isatty()
    try:
        with log.open("a") as file:
            for line in process.stdout:
                file.write(line)
                objects += line.startswith(("  CC ", "  AS "))
                seconds = time.monotonic() - began
                if seconds - shown >= (0.2 if terminal else 30):
                    shown = seconds
                    share = min(99, 100 * objects // USUAL_OBJECTS)
                    text = f"compiling: {objects} files, about {share} %, {seconds:.0f} s"
                    print(f"\r{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        if terminal:
            print(file=sys.stderr)
    if status:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        kept = log.parents[1] / "failed.log"
        shutil.copy(log, kept)
        raise BuildError(f"the kernel did not compile; the whole log is {kept}. Its last lines:\n{tail}")


def prune(tree: Path) -> None:
    """Delete the files that neither the lab nor the build of a module needs."""
    # in these folders, the build of a module reads only Makefiles and Kconfig files
    sources = {"Documentation", "samples", "drivers", "sound", "fs", "net", "mm", "crypto", "block", "rust"}
    objects = {".c", ".S", ".o", ".a", ".cmd", ".rst", ".dts", ".dtsi", ".yaml", ".json", ".txt"}
    for folder, _, files in os.walk(tree):
        for name in files:
            path = Path(folder, name)
            top = path.relative_to(tree).parts[0]
            foreign = top in sources and name != "Makefile" and not name.startswith("Kconfig")
            ours = name == COMPILER.name or name.startswith(HEADERS.name) or name.endswith(".names.h")
            if ours or (top not in ("scripts", "tools") and (path.suffix in objects or foreign)):
                path.unlink()
    for architecture in (tree / "arch").iterdir():
        if architecture.is_dir() and architecture.name not in ("um", "x86"):
            shutil.rmtree(architecture)
    for folder in ("tools/testing", "tools/perf", "scripts/dtc/include-prefixes"):
        shutil.rmtree(tree / folder, ignore_errors=True)


def leave_out_drivers(tree: Path) -> None:
    """Let make enter only the folders DRIVERS. It would enter 300 others, in which nothing is configured."""
    makefile = tree / "drivers" / "Makefile"

    def needed(line: re.Match[str]) -> str:
        return f"{line[1]} += {' '.join(folder for folder in line[2].split() if folder in DRIVERS)}"

    makefile.write_text(re.sub(r"^(obj-\S+)\s*\+=(.*)$", needed, makefile.read_text(), flags=re.MULTILINE))


def build(source: Path, entry: Path, identity: dict[str, str], variant: Variant) -> None:
    """Build in a folder beside the cache entry, and rename it at the end. The caller holds the entry's lock.

    An interrupted build leaves the folder, with the last complete stage in a file. The next one goes on from there.
    """
    work = entry.with_name(f".{entry.name}.work")
    tree, log, stage = work / "tree", work / "build.log", work / "stage"
    reached = stage.read_text() if stage.is_file() else ""
    if reached:
        say("going on with the build that was interrupted")
    elif work.exists():
        say("the build that was interrupted had not unpacked the source; beginning again")
    try:
        if not reached:
            shutil.rmtree(work, ignore_errors=True)
            tree.mkdir(parents=True)
            unpack(source, tree)
            version_of(tree)
            patch(tree)
            leave_out_drivers(tree)
            shutil.copy(COMPILER, tree)
            shutil.copy(HEADERS, tree)
            stage.write_text("unpacked")
        if reached != "compiled":
            version = version_of(tree)
            log.unlink(missing_ok=True)
            configure(tree, log, variant)
            say(f"compiling Linux {version[0]}.{version[1]} for user mode on {os.cpu_count()} cores")
            compile_kernel(tree, log, f"-{variant.link.removesuffix('-kernel')}-{entry.name[:8]}")
            shutil.copy2(tree / "linux", work / "linux")
            with log.open("a") as file:
                subprocess.run(["strip", "--strip-debug", work / "linux"], check=True, stdout=file, stderr=file)
            stage.write_text("compiled")
        release = (tree / "include/config/kernel.release").read_text().strip()
        for image in ("linux", "vmlinux", "vmlinux.unstripped"):
            (tree / image).unlink(missing_ok=True)
        prune(tree)
        manifest = identity | {"release": release, "linux_sha256": digest_file(work / "linux")}
        (work / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    except (BuildError, subprocess.CalledProcessError, OSError) as error:
        say("deleting the incomplete build")
        shutil.rmtree(work, ignore_errors=True)
        if not reached:
            raise
        say(f"the build that was interrupted cannot go on; beginning again ({str(error).splitlines()[0]})")
        build(source, entry, identity, variant)
        return
    stage.unlink()
    shutil.rmtree(entry, ignore_errors=True)  # a damaged one
    work.rename(entry)


def is_whole(entry: Path) -> bool:
    """Return whether a cache entry has the kernel that was built, unchanged."""
    try:
        return bool(json.loads((entry / "manifest.json").read_text())["linux_sha256"] == digest_file(entry / "linux"))
    except (OSError, ValueError, KeyError):
        return False


def identify(source: Path, variant: Variant) -> dict[str, str]:
    """Return what the built kernel depends on; its hash is the name in the cache."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "source": source.name,
        "source_sha256": digest_source(source),
        "config_sha256": hashlib.sha256(variant.text().encode()).hexdigest(),
        "patches_sha256": hashlib.sha256("".join(map(digest_file, PATCHES)).encode()).hexdigest(),
        "recipe": RECIPE,
        "compiler": compiler.splitlines()[0],
    }


@contextmanager
def locked(entry: Path) -> Iterator[None]:
    """Hold the lock of a cache entry, so that two builds of the same kernel do not run at the same time."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    with entry.with_name(f".{entry.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build of this kernel is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    """Print a message for the user."""
    print(f"lab-kernel: {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Build what is missing and link it; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the lab kernel (user-mode Linux in virtual time).")
    parser.add_argument("--source", default=os.environ.get("KERNEL_SRC", ""), help="kernel tree or tarball")
    parser.add_argument("--variant", choices=VARIANTS, default="lab", help="which of the lab kernels")
    parser.add_argument("--name", default="", help="of a second kernel, beside the lab's own")
    parser.add_argument("--key", action="store_true", help="print the HASH under which the cache keeps it, and stop")
    arguments = parser.parse_args()
    variant = VARIANTS[arguments.variant]
    link = ROOT / "build" / variant.link
    if arguments.name:
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", arguments.name) or arguments.name in VARIANTS:
            parser.error(
                f"the name {arguments.name!r} must be a small letter and more of them, digits and - _, not one "
                f"of {', '.join(VARIANTS)}"
            )
        link = ROOT / "build" / "lab-kernels" / arguments.name
    cache = Path(os.environ.get("NDM_CACHE") or Path.home() / ".cache" / "ndm-tcp").expanduser()
    try:
        source = find_source(arguments.source)
        identity = identify(source, variant)
        key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        if arguments.key:
            print(key)
            return 0
        entry = cache / "lab-kernel" / key
        with locked(entry):
            if not is_whole(entry):
                build(source, entry, identity, variant)
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.exists() and link.resolve() != entry.resolve():
            (entry / "manifest.json").touch()  # modules of the kernel before do not fit, and make goes by times
        fresh = link.with_name(f".{link.name}.{os.getpid()}")
        fresh.symlink_to(entry)
        fresh.replace(link)
    except BuildError as error:
        print(f"lab-kernel: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"lab-kernel: {' '.join(map(str, error.cmd))} failed with status {error.returncode}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab-kernel: interrupted; the same command goes on", file=sys.stderr)
        return 130
    say(f"{link.relative_to(ROOT)} -> {entry}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
