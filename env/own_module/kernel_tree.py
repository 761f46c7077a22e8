"""The kernels that a user's module can be built for."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from env.lab.virtual import KERNEL


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


def virtual_tree() -> KernelTree:
    """Return the lab kernel's tree."""
    release = json.loads(KERNEL.with_name("manifest.json").read_text())["release"]
    return KernelTree(KERNEL.with_name("tree"), release, hashlib.sha256(KERNEL.read_bytes()).hexdigest())
