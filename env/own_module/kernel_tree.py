"""The kernels that a user's module can be built for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from env.files import sha256
from env.lab.kernels import LAB, lab_kernel


@dataclass(frozen=True)
class KernelTree:
    """A kernel to build modules for. folder: its build tree. release: uname -r. sha256: of its image."""

    folder: Path
    release: str
    sha256: str

    @property
    def is_user_mode(self) -> bool:
        """True for user-mode Linux."""
        config = self.folder / ".config"
        return config.is_file() and bool(re.search("^CONFIG_UML=y", config.read_text(), re.MULTILINE))

    @property
    def make(self) -> list[str]:
        """Return the command that builds the modules of the folder that M= names."""
        return ["make", "-s", "-C", str(self.folder), *(("ARCH=um", "SUBARCH=x86_64") if self.is_user_mode else ())]


def virtual_tree(name: str = LAB) -> KernelTree:
    """Return the tree of a kernel of the virtual lab. Raises env.lab.LabMissing."""
    kernel = lab_kernel(name)
    return KernelTree(kernel.tree, kernel.release, sha256(kernel.image))
