"""The kernels that the virtual lab can boot: the lab kernel, its sanitizer build, and others by name.

make lab-kernel KERNEL_SRC=TREE KERNEL=NAME     # build/lab-kernels/NAME
make module                                     # modules for each of them
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from env.checkout import BUILD, MODEL_BUILD
from env.errors import suggest
from env.lab.errors import LabMissing

LAB, SANITIZER = "lab", "sanitizer"
OTHERS = BUILD / "lab-kernels"
NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class LabKernel:
    """A kernel of the virtual lab.

    folder: its image `linux`, build tree and manifest.json. modules: those built for it.
    kernel_target, modules_target: the make targets that build both.
    """

    name: str
    folder: Path
    modules: Path
    kernel_target: str
    modules_target: str

    @property
    def image(self) -> Path:
        """Return the program that boots."""
        return self.folder / "linux"

    @property
    def tree(self) -> Path:
        """Return what modules are built with."""
        return self.folder / "tree"

    @property
    def release(self) -> str:
        """Return uname -r."""
        return str(json.loads((self.folder / "manifest.json").read_text())["release"])


def lab_kernel(name: str = LAB) -> LabKernel:
    """Return the kernel of a name. Raises LabMissing for an unknown one, with the names that there are."""
    if name == LAB:
        return LabKernel(name, BUILD / "lab-kernel", MODEL_BUILD / "modules" / "lab", "lab-kernel", "module")
    if name == SANITIZER:
        return LabKernel(name, BUILD / "sanitizer-kernel", BUILD / "modules" / name, "sanitizer", "sanitizer")
    others = sorted(folder.name for folder in OTHERS.glob("*")) if OTHERS.is_dir() else []
    if name not in others:
        raise LabMissing(
            f"lab kernel {name!r} is unknown{suggest(name, [LAB, *others])}The kernels are "
            f"{', '.join([LAB, *others])}; `make lab-kernel module KERNEL_SRC=TREE KERNEL=NAME` builds another one"
        )
    target = f"lab-kernel KERNEL_SRC=TREE KERNEL={name}"
    return LabKernel(name, OTHERS / name, MODEL_BUILD / "modules" / f"lab-{name}", target, "module")
