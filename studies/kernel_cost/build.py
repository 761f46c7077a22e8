# SPDX-License-Identifier: GPL-2.0
"""Compiles tcp_ndm and BBR with the kernel's flags, and links each to a program that replays ACKs to it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from env.checkout import BUILD, KERNEL
from env.errors import UserError
from env.lab.stock.kernel import HEADERS, find_release
from kernel.lab.uml.build import find_source

SOURCES = Path(__file__).resolve().parent / "src"
OUTPUT = BUILD / "bench"
LAB = BUILD / "lab-kernel"
STOCK_VERSIONS = ("6.1", "6.12")

# BBR, its filter and Cubic: the lab kernel's tree is pruned, so these files come from the kernel's source
KERNEL_SOURCES = ("net/ipv4/tcp_bbr.c", "lib/win_minmax.c", "net/ipv4/tcp_cubic.c")
# congestion control -> its objects, relative to the folder `bench`
PROGRAMS = {
    "ndm": ("../tcp_ndm.o",),
    "ndm_untraced": ("../../{}-untraced/tcp_ndm.o",),
    "bbr": ("tcp_bbr.o", "win_minmax.o"),
}


@dataclass(frozen=True)
class Kernel:
    """A kernel to build modules for. name: lab, or a stock kernel's version. tree: build tree. release: uname -r."""

    name: str
    tree: Path
    release: str

    @property
    def version(self) -> tuple[int, int]:
        """Return the first two numbers of the release."""
        major, minor = self.release.split(".")[:2]
        return int(major), int(re.match(r"\d+", minor)[0])  # type: ignore[index]

    @property
    def folder(self) -> Path:
        """Folder of tcp_ndm.o; its folder `bench` has all other objects and programs."""
        return OUTPUT / self.name


def lab_kernel() -> Kernel:
    """Return the lab's kernel. Raises UserError when it is not built."""
    manifest = LAB / "manifest.json"
    if not manifest.is_file():
        raise UserError(f"{manifest} does not exist: run `make lab-kernel`")
    return Kernel("lab", (LAB / "tree").resolve(), json.loads(manifest.read_text())["release"])


def stock_kernels() -> list[Kernel]:
    """Return the stock kernels whose headers are installed, the newest last. In CI, a missing one raises UserError."""
    kernels = []
    for version in STOCK_VERSIONS:
        try:
            release = find_release(version)
        except UserError as error:
            if os.environ.get("CI"):
                raise UserError(str(error)) from None
            continue
        kernels.append(Kernel(version, HEADERS / f"linux-headers-{release}", release))
    return kernels


def has_bbr(kernel: Kernel) -> bool:
    """Return whether the available source of BBR, the lab kernel's, has this kernel's version."""
    return kernel.version == lab_kernel().version


def kernel_sources() -> Path:
    """Return a folder with KERNEL_SOURCES; the first call extracts them from the kernel's source."""
    source = find_source(os.environ.get("KERNEL_SRC", ""))
    folder = OUTPUT / f"source-{lab_kernel().release}"
    wanted = {Path(name).name: name for name in KERNEL_SOURCES}
    if all((folder / name).is_file() for name in wanted):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        for name, path in wanted.items():
            shutil.copy2(source / path, folder / name)
        return folder
    missing = set(KERNEL_SOURCES)
    with tarfile.open(source, "r|*") as archive:
        for member in archive:
            path = member.name.split("/", 1)[-1]
            if path in missing and (content := archive.extractfile(member)) is not None:
                (folder / Path(path).name).write_bytes(content.read())
                missing.remove(path)
                if not missing:
                    return folder
    raise UserError(f"{source} has no {' and no '.join(sorted(missing))}: it is not a kernel source")


def copy_sources(folder: Path) -> None:
    """Put the module's sources into a folder, with the selected models, and the benchmark's into its folder `bench`."""
    run([str(KERNEL / "sources.sh"), str(folder)])
    for file in (SOURCES / "Kbuild", *SOURCES.glob("*.[ch]")):
        copy_newer(file, folder / "bench" / file.name)


def copy_kernel_sources(folder: Path) -> None:
    """Put KERNEL_SOURCES into a folder."""
    for file in kernel_sources().iterdir():
        copy_newer(file, folder / file.name)


def copy_newer(file: Path, to: Path) -> None:
    """Copy a file with its modification time, unless the copy is up to date."""
    if not to.is_file() or to.stat().st_mtime_ns != file.stat().st_mtime_ns:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, to)


def kbuild(kernel: Kernel, folder: Path, *arguments: str, flags: str = "") -> None:
    """Run a kernel's build system in a folder. Raises UserError with its output."""
    architecture = ("ARCH=um", "SUBARCH=x86_64") if kernel.name == "lab" else ()
    # debug information does not change the code; the table of the state is read from it
    run(["make", "-s", "-C", str(kernel.tree), *architecture, f"M={folder}", f"KCFLAGS=-g {flags}", *arguments])


def build(kernel: Kernel) -> Path:
    """Build the module's object and the programs for a kernel; returns the folder of the programs replay_SCHEME."""
    untraced = kernel.folder.with_name(f"{kernel.name}-untraced")
    for folder, flags in ((kernel.folder, ""), (untraced, "-DNOTRACE")):  # NOTRACE: linux/tracepoint.h
        copy_sources(folder)
        kbuild(kernel, folder, "tcp_ndm.o", flags=flags)
    folder, schemes = kernel.folder / "bench", programs(kernel)
    objects = ["socket.o", "core.o"]
    if "bbr" in schemes:
        copy_kernel_sources(folder)
        objects += PROGRAMS["bbr"]
    kbuild(kernel, folder, *objects)
    plain = ("cc", "-O2", "-Wall", "-Wextra", "-c")
    run([*plain, "-o", "replay.o", "replay.c"], folder)
    run([*plain, "-fno-builtin", "-mgeneral-regs-only", "-fcf-protection=none", "-o", "kernel.o", "kernel.c"], folder)
    for scheme in schemes:
        # a symbol that kernel.c does not define gets address 0, so using it ends the program
        link = ["cc", "-static", "-no-pie", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,noexecstack"]
        common = ["replay.o", "kernel.o", "socket.o", "core.o"]
        under_test = [name.format(kernel.name) for name in PROGRAMS[scheme]]
        run([*link, "-o", f"replay_{scheme}", *common, *under_test], folder)
    return folder


def programs(kernel: Kernel) -> list[str]:
    """Return the congestion controls that have a program for a kernel."""
    return [scheme for scheme in PROGRAMS if scheme != "bbr" or has_bbr(kernel)]


def build_modules() -> Path:
    """Build the lab's modules that record ACKs and pace Cubic; returns their folder."""
    folder = OUTPUT / "modules"
    copy_sources(folder)
    copy_kernel_sources(folder / "bench")
    kbuild(lab_kernel(), folder / "bench", "NDM_BENCH_MODULES=y", "modules")
    return folder / "bench"


def run(command: Sequence[str], folder: Path | None = None) -> str:
    """Run a command and return its output. Raises UserError with its messages if it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError(f"{command[0]} is missing: run `setup/packages.py bench`") from None
    if done.returncode:
        output = done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}"
        raise UserError(f"{' '.join(command)}: {output}")
    return done.stdout
