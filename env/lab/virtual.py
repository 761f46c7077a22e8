"""The virtual lab: a user-mode Linux kernel in virtual time, whose runs are repeatable."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import signal
import subprocess
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from env.checkout import BUILD
from env.lab.errors import LabError, LabMissing
from env.lab.kernels import LAB, SANITIZER, lab_kernel
from env.lab.lab import GUEST, PROGRAM, Lab, require_files
from env.lab.module_files import check_release
from env.lab.process import spawn

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

KERNEL = lab_kernel().image
MODULES = lab_kernel().modules
INIT = BUILD / "init"
ALWAYS_LOADED = ("tcp_ndm_gym", "lab_gate", "lab_traffic", "sch_linktrace")  # by guest/init.c

CHANNEL_FD = 3  # where lab_gate.ko expects the channel
MODULES_FD, BUILD_FD = 4, 5  # where init.c expects the folders of the modules and of the programs
# Virtual time begins here, so that certificates, file times and TCP time stamps are the same in every run.
EPOCH_S = 1_700_000_000


class VirtualLab(Lab):
    """A lab kernel with a seed. The n-th run of a seed gives the same bytes, whatever ran in the lab before.

    seed: of all randomness in the guest. modules: as in Lab, names of build/modules/lab, besides ALWAYS_LOADED.
    memory_mb: of the guest, allocated as it is used. timeout_s: as in Lab. variant: the name of a kernel
    (env/lab/kernels.py). kernel: another image for the variant's modules. ipv6: whether the guest has IPv6, which sends
    packets of its own.
    """

    def __init__(
        self,
        *,
        seed: int,
        modules: Sequence[str | FilePath] = (),
        memory_mb: int = 512,
        timeout_s: float = 120.0,
        variant: str = LAB,
        kernel: FilePath | None = None,
        ipv6: bool = False,
    ) -> None:
        if not 0 <= seed < 2**63:
            raise LabError(f"seed is {seed}; it must lie between 0 and 2**63 - 1")
        known = lab_kernel(variant)
        self.seed = seed
        self.memory_mb = memory_mb
        self.variant = known
        self.builtin = known.tree / "modules.builtin"
        self.kernel = kernel or known.image
        self.ipv6 = ipv6
        self._runs = 0  # since the guest booted
        super().__init__(
            modules=modules,
            modules_folder=known.modules,
            modules_target=known.modules_target,
            timeout_s=timeout_s,
        )

    def _check_files(self) -> None:
        require_files([self.kernel], self.variant.kernel_target)
        always_loaded = [self._modules_folder / f"{name}.ko" for name in ALWAYS_LOADED]
        require_files(always_loaded, self._modules_target)
        for module in (*always_loaded, *self.modules) if self.kernel == self.variant.image else ():
            check_release(module, self.variant.release, f"run `make {self._modules_target}`, or build your own anew")
        require_files((INIT, PROGRAM), "module")
        if not os.access(self.kernel, os.X_OK):
            raise LabMissing(f"{self.kernel} cannot be executed: run `chmod +x {self.kernel}`")

    def _spawn(self, channel: socket.socket, console: int, core: int) -> int:
        self._runs = 0
        modules, build = (os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in (self._modules_folder, BUILD))
        try:
            return spawn(
                [
                    # the guest finds its first program and everything else by its host process's working directory
                    *("/usr/bin/env", "-C", str(GUEST), "taskset", "--cpu-list", str(core), *_fixed_addresses()),
                    *(str(self.kernel), *self._kernel_arguments()),
                ],
                {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": _memory_folder(self.memory_mb)},
                console,
                descriptors={CHANNEL_FD: channel.fileno(), MODULES_FD: modules, BUILD_FD: build},
            )
        finally:
            os.close(modules)
            os.close(build)

    def _kernel_arguments(self) -> list[str]:
        """Return the kernel's command line. It feeds the random pool: nothing here may differ between machines."""
        return [
            f"mem={self.memory_mb}M",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            f"init=/proc/self/cwd/{os.path.relpath(INIT, GUEST)}",
            "time-travel=inf-cpu",
            f"time-travel-start={EPOCH_S}",
            "random.trust_bootloader=on",
            f"lab_seed={self.seed}",
            "norandmaps",
            # no interface and no packet that was not asked for
            *("fb_tunnels=none", "bonding.max_bonds=0", *([] if self.ipv6 else ["ipv6.disable=1"])),
            # without a folder for the management console, which is not used, a killed lab leaves nothing behind
            "uml_dir=/proc/self",
            "con=null",
            "con0=null,fd:2",
            "con1=null",
            # the process ends when the guest panics or reboots
            "panic=-1",
            "noreboot",
            "quiet",
            # the agent names the make target of this variant
            *([f"lab_variant={SANITIZER}"] if self.variant.name == SANITIZER else []),
        ]

    def end_programs(self) -> None:
        """As Lab.end_programs(). Each program has a process of the host; the agent's is the oldest."""
        for process in FilePath(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)

    def _seed_of_run(self, seed: int | None) -> int:
        """Return the seed of the next run: the first of a lab with `seed`, or the next one of this lab."""
        if seed is not None:
            return _run_seed(seed, 1)
        self._runs += 1
        return _run_seed(self.seed, self._runs)


def _run_seed(lab_seed: int, run: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{lab_seed} {run}".encode()).digest()[:8])


def _memory_folder(memory_mb: int) -> str:
    """Return where the file of the guest's memory is created: in memory if possible.

    The kernel executes what it maps from there. In a container, /dev/shm has 64 MB by default and is not executable.
    """
    shared = "/dev/shm"
    if not os.access(shared, os.W_OK):
        return "/tmp"
    status = os.statvfs(shared)
    fits = status.f_bavail * status.f_frsize >= memory_mb << 20
    return shared if fits and not status.f_flag & os.ST_NOEXEC else "/tmp"


@functools.cache
def _fixed_addresses() -> tuple[str, ...]:
    """Return the command that switches off the host's random addresses, or nothing where that is forbidden.

    The seccomp profile of containers forbids it. The bytes of a run are the same without it; it is a second lock.
    """
    command = ("setarch", "-R")
    allowed = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if allowed else ()
