"""The VM lab: a distribution's own kernel, unmodified, under QEMU, with the same agent and the same network in it."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from env.checkout import ROOT
from env.lab.errors import GuestFailed, LabError, LabMissing
from env.lab.real_time import PULSE, RealTimeLab
from env.lab.stock_kernel import StockKernel
from env.lab.virtual import PROBE, PROGRAM, SPAWN_OPTIONS, Observation, Record, Reply, console_actions

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from env.lab.core import Core
    from env.network.path import Path
    from env.network.rack import Rack

QEMU = "qemu-system-x86_64"
INIT = FilePath(__file__).resolve().parent / "guest" / "init-vm.sh"
PORT_NAME = "ndm.lab"  # of the virtio-serial port; init-vm.sh looks for it
# A guest in real time that waits for a core is late: where the user may, QEMU goes before all other work.
FIRST = (os.SCHED_FIFO, os.sched_param(1))
CLOCKS = {"real": [], "counted": ["-icount", "shift=0,sleep=off"]}


class VmLab(RealTimeLab):
    """A stock kernel in a virtual machine: KVM is not used, so that it runs where it must not or cannot be.

    kernel: a version that has been fetched, as 6.12 (env/lab/stock_kernel.py). modules: as of the virtual lab, built
    for this kernel; sch_linktrace is always there. memory_mb: of the guest. timeout_s: as of the virtual lab; a run is
    silent for as long as it lasts. clock: "real", or "counted": the guest's clock counts its instructions, one for each
    nanosecond, and jumps when there is nothing to do (QEMU's icount), so that its CPU is one of the same speed on every
    machine, and a busy machine changes nothing. burst_us: of bottlenecks, in place of the clock's
    (env/network/clock.py).
    """

    def __init__(
        self,
        *,
        kernel: str = "6.12",
        modules: Sequence[str | FilePath] = (),
        memory_mb: int = 768,
        timeout_s: float = 300.0,
        clock: str = "real",
        burst_us: float | None = None,
    ) -> None:
        if clock not in CLOCKS:
            raise LabError(f"clock {clock!r} is unknown; it is one of {', '.join(CLOCKS)}")
        super().__init__(seed=0, memory_mb=memory_mb, timeout_s=timeout_s)
        self.clock = clock
        self.burst_us = burst_us
        self.stock = StockKernel(kernel)
        self._modules_folder = self.stock.modules
        self.modules = [self._module_file(module) for module in ("sch_linktrace", *modules)]

    def _check_files(self) -> None:
        for file in (self.stock.image, self.stock.initramfs, PROGRAM, PROBE, PULSE):
            if not file.is_file():
                raise LabMissing(f"{file} does not exist: run `make vm-kernel`")
        if shutil.which(QEMU) is None:
            raise LabMissing(f"{QEMU} is missing: run `make vm-kernel`, which installs the package qemu-system-x86")

    def _modules_target(self) -> str:
        return "vm-kernel"

    def _spawn(self, channel: socket.socket, console: int, core: Core) -> int:
        # however the thread that boots it ends, QEMU ends with it
        argv = ["setpriv", "--pdeathsig", "KILL", QEMU, *self._qemu_arguments(channel.fileno())]
        os.set_inheritable(channel.fileno(), True)
        options = SPAWN_OPTIONS | {"file_actions": console_actions(console)}
        if self.clock == "counted":
            # as in the virtual lab, one of its threads runs at a time
            argv = ["taskset", "--cpu-list", str(core.number), *argv]
        else:
            try:
                return os.posix_spawnp(argv[0], argv, os.environ, scheduler=FIRST, **options)
            except PermissionError:
                pass  # an ordinary user; then nothing else should run beside it
        return os.posix_spawnp(argv[0], argv, os.environ, **options)

    def _qemu_arguments(self, channel_fd: int) -> list[str]:
        return [
            *("-machine", "q35", "-cpu", "max", "-accel", "tcg", "-smp", "1", "-m", str(self.memory_mb)),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", *CLOCKS[self.clock]),
            *("-kernel", str(self.stock.image), "-initrd", str(self.stock.initramfs)),
            *("-append", " ".join(self._kernel_arguments())),
            *("-serial", "stdio"),
            # the host's files, with the invoking user's rights, and none of them to be written
            *("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", "virtio-9p-pci,fsdev=root,mount_tag=/dev/root"),
            *("-device", "virtio-serial-pci", "-chardev", f"socket,id=channel,fd={channel_fd}"),
            *("-device", f"virtserialport,chardev=channel,name={PORT_NAME}"),
        ]

    def _kernel_arguments(self) -> list[str]:
        arguments = {
            "console": "ttyS0",
            "init": str(INIT),
            "lab_root": str(ROOT),
            "lab_kernel": str(self.stock.root),
            "lab_clock": self.clock,
            **({} if self.burst_us is None else {"lab_burst_us": f"{self.burst_us:g}"}),
            "panic": "-1",
            # the boot does not wait for ten ticks to come in time, and panic because a busy machine let them come late
            "no_timer_check": "",
            # Not what a run is about: addresses that come by themselves, and a policy for programs.
            "ipv6.disable": "1",
            "apparmor": "0",
        }
        for name, value in arguments.items():
            if len(value.split()) > 1:
                raise LabError(f"{name}={value!r} cannot stand on a kernel's command line: use a folder without spaces")
        return ["quiet", *(f"{name}={value}" if value else name for name, value in arguments.items())]

    def _send(self, frame: bytes) -> None:
        if self.clock == "counted" and self._channel is not None:
            os.kill(self._pid, signal.SIGCONT)
        super()._send(frame)

    def receive(self) -> Observation | Record | Reply:
        """Wait for the next frame, as the virtual lab does."""
        frame = super().receive()
        if self.clock == "counted" and isinstance(frame, Reply):
            # a clock that jumps when there is nothing to do would jump as fast as it can until the next command
            os.kill(self._pid, signal.SIGSTOP)
        return frame

    def run(
        self, path: Path | Rack, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any
    ) -> dict[str, Any]:
        """Run flows to their end, as the virtual lab does. Raises NotKeptUp when the guest was not in time."""
        for _ in range(2):
            try:
                return super().run(path, flows, duration_s, **options)
            except GuestFailed as error:
                # A counted clock jumps on while the host reads a file for the guest. The second time it is there.
                if self.clock != "counted" or not str(error).startswith("RunLate"):
                    raise
        return super().run(path, flows, duration_s, **options)
