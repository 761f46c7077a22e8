"""The host lab: namespaces of the machine's running kernel. It needs root and runs in real time."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from env.checkout import MODEL_BUILD, ROOT
from env.lab.errors import LabError
from env.lab.lab import GUEST, PROGRAM, require_files
from env.lab.process import spawn
from env.lab.stock.real_time import PULSE, RealTimeLab

if TYPE_CHECKING:
    import socket

INIT = GUEST / "init-host.sh"
CHANNEL_FD = 3
TIMEOUT_S = 300.0
# A closed connection keeps a module in use for a moment after its namespace is gone.
UNLOAD_TIMEOUT_S = 30.0


def modules_folder() -> FilePath:
    """Return the folder of the modules for the running kernel."""
    return MODEL_BUILD / "modules" / os.uname().release


class HostLab(RealTimeLab):
    """The agent and the network in network, mount and process namespaces of the running kernel.

    The lab loads kernel modules into the running kernel, and unloads them when it ends. It refuses a module that is
    already loaded, because the module's source is unknown. A traced run changes the kernel's tracing. The lab changes
    nothing else of the machine.

    Raises LabError for a user other than root.
    """

    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise LabError("lab=host needs root for network namespaces and kernel modules; lab=virtual does not")
        super().__init__(
            modules=("sch_linktrace",),
            modules_folder=modules_folder(),
            modules_target=f"module KDIR=/lib/modules/{os.uname().release}/build",
            timeout_s=TIMEOUT_S,
        )
        self._loaded: list[str] = []

    def _check_files(self) -> None:
        require_files((PROGRAM, PULSE), self._modules_target)

    def _spawn(self, channel: socket.socket, console: int, core: int) -> int:  # noqa: ARG002 (the kernel chooses)
        namespaces = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        argv = [*namespaces, str(INIT), str(ROOT), str(CHANNEL_FD)]
        return spawn(argv, os.environ, console, descriptors={CHANNEL_FD: channel.fileno()})

    def _load(self, module: FilePath, parameters: str = "") -> None:
        if module.suffix != ".ko":
            raise LabError(f"{module} is a BPF object, which would stay in this machine's kernel: use lab=vm")
        if FilePath("/sys/module", module.stem).exists():
            raise LabError(
                f"module {module.stem} is already loaded; run `rmmod {module.stem}`, so that the lab can load {module}"
            )
        super()._load(module, parameters)
        self._loaded.append(module.stem)

    def close(self) -> None:
        """End the lab and unload its modules. Raises LabError when one of them stays in use."""
        super().close()
        loaded, self._loaded = self._loaded[::-1], []
        for name in loaded:
            _unload(name)


def _unload(name: str) -> None:
    deadline = time.monotonic() + UNLOAD_TIMEOUT_S
    while True:
        rmmod = subprocess.run(["rmmod", name], capture_output=True, text=True, check=False)
        if not rmmod.returncode:
            return
        if time.monotonic() > deadline:
            raise LabError(f"module {name} could not be unloaded: {rmmod.stderr.strip()}")
        time.sleep(0.2)
