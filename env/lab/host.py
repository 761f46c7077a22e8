"""The host lab: the machine's own kernel, in namespaces of its own. For root, in real time."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from env.checkout import BUILD, ROOT
from env.lab.errors import LabError, LabMissing
from env.lab.real_time import PULSE, RealTimeLab
from env.lab.virtual import CHANNEL_FD, PROBE, PROGRAM, SPAWN_OPTIONS, console_actions

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from env.lab.core import Core

INIT = FilePath(__file__).resolve().parent / "guest" / "init-host.sh"
# What a connection has left keeps a module busy for a moment after its namespace is gone.
UNLOAD_PATIENCE_S = 30.0


def modules_folder() -> FilePath:
    """Return where the modules for the running kernel are."""
    return BUILD / "modules" / os.uname().release


class HostLab(RealTimeLab):
    """The same agent and the same network in a network, mount and process namespace of the running kernel.

    modules: as of the virtual lab, built for the running kernel. They are loaded into it, and unloaded when the lab
    ends; one that is loaded already is refused, because nobody could say what it was built from. Nothing else of the
    machine is changed but what the tracing of a run sets.

    Raises LabError without root's rights.
    """

    def __init__(self, *, modules: Sequence[str | FilePath] = (), timeout_s: float = 300.0) -> None:
        if os.geteuid() != 0:
            raise LabError(
                "lab=host makes network namespaces and loads kernel modules, which takes root; lab=virtual does not"
            )
        super().__init__(seed=0, timeout_s=timeout_s)
        self._modules_folder = modules_folder()
        self.modules = [self._module_file(module) for module in ("sch_linktrace", *modules)]
        self._loaded: list[str] = []

    def _check_files(self) -> None:
        for file in (PROGRAM, PROBE, PULSE):
            if not file.is_file():
                raise LabMissing(f"{file} does not exist: run `make {self._modules_target()}`")

    def _modules_target(self) -> str:
        return f"module KDIR=/lib/modules/{os.uname().release}/build"

    def _spawn(self, channel: socket.socket, console: int, core: Core) -> int:  # noqa: ARG002 (the kernel chooses)
        spaces = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return os.posix_spawnp(
            spaces[0],
            [*spaces, str(INIT), str(ROOT), str(CHANNEL_FD)],
            os.environ,
            file_actions=[*console_actions(console), (os.POSIX_SPAWN_DUP2, channel.fileno(), CHANNEL_FD)],
            **SPAWN_OPTIONS,
        )

    def _load(self, module: FilePath) -> None:
        if FilePath("/sys/module", module.stem).exists():
            raise LabError(
                f"module {module.stem} is loaded already: `rmmod {module.stem}` first, so that it is this one"
            )
        super()._load(module)
        self._loaded.append(module.stem)

    def close(self) -> None:
        """End the lab and unload its modules. Raises LabError when one of them stays in use."""
        super().close()
        loaded, self._loaded = self._loaded[::-1], []
        for name in loaded:
            _unload(name)


def _unload(name: str) -> None:
    deadline = time.monotonic() + UNLOAD_PATIENCE_S
    while True:
        done = subprocess.run(["rmmod", name], capture_output=True, text=True, check=False)
        if not done.returncode:
            return
        if time.monotonic() > deadline:
            raise LabError(f"module {name} could not be unloaded: {done.stderr.strip()}")
        time.sleep(0.2)
