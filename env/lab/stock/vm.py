"""The VM lab: a distribution's unmodified kernel under QEMU."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from env.checkout import ROOT
from env.lab.errors import GuestFailed, LabError, LabMissing
from env.lab.lab import GUEST, PROGRAM, require_files
from env.lab.process import spawn
from env.lab.protocol import Frame, Reply
from env.lab.stock.kernel import StockKernel
from env.lab.stock.real_time import PULSE, RealTimeLab

if TYPE_CHECKING:
    from collections.abc import Sequence

    from env.lab.result import RunResult
    from env.network.networks import Network

QEMU = "qemu-system-x86_64"
INIT = GUEST / "init-vm.sh"
CHANNEL_FD = 3
PORT_NAME = "ndm.lab"  # of the virtio-serial port; init-vm.sh looks for it
# A guest in real time is late when it waits for a core: QEMU runs before all other work if the user may ask for it, but
# one guest at a time, because the CPUs of two busy guests would keep QEMU's other threads from a machine's two cores.
REAL_TIME_PRIORITY = (os.SCHED_FIFO, os.sched_param(1))
CLAIM = "\0ndm-tcp-lab/real-time"  # a name for one process of the machine, as in env/lab/core.py
CLOCKS = {"real": [], "counted": ["-icount", "shift=0,sleep=off"]}


class VmLab(RealTimeLab):
    """A stock kernel in a virtual machine without KVM, which many machines lack or forbid.

    kernel: a version that has been fetched, such as 6.12, or `newest` (env/lab/stock/kernel.py). modules: as in Lab,
    built for this kernel; sch_linktrace is always loaded. memory_mb: of the guest. timeout_s: as in Lab. clock: "real"
    or "counted". A counted clock advances by a nanosecond for each instruction, and jumps when the guest is idle
    (QEMU's icount), so that the guest's CPU has the same speed on every machine, however busy. burst_us: of
    bottlenecks, instead of the clock's (env/network/clock.py). ipv6: whether the guest has IPv6.
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
        ipv6: bool = False,
    ) -> None:
        if clock not in CLOCKS:
            raise LabError(f"clock {clock!r} is unknown; it is one of {', '.join(CLOCKS)}")
        self.stock = StockKernel(kernel)
        self.memory_mb = memory_mb
        self.clock = clock
        self.burst_us = burst_us
        self.ipv6 = ipv6
        super().__init__(
            modules=("sch_linktrace", *modules),
            modules_folder=self.stock.modules,
            modules_target=self.stock.target,
            timeout_s=timeout_s,
        )

    def _check_files(self) -> None:
        require_files((self.stock.image, self.stock.initramfs, PROGRAM, PULSE), self._modules_target)
        if shutil.which(QEMU) is None:
            raise LabMissing(f"{QEMU} is missing: run `make vm-kernel`, which installs the package qemu-system-x86")

    def _spawn(self, channel: socket.socket, console: int, core: int) -> int:
        argv = [QEMU, *self._qemu_arguments()]
        descriptors = {CHANNEL_FD: channel.fileno()}
        if self.clock == "counted":
            # as in the virtual lab, one of its threads runs at a time
            return spawn(["taskset", "--cpu-list", str(core), *argv], os.environ, console, descriptors=descriptors)
        with socket.socket(socket.AF_UNIX) as claim:
            claim.set_inheritable(True)  # QEMU holds it until it ends
            try:
                claim.bind(CLAIM)
                return spawn(argv, os.environ, console, descriptors=descriptors, scheduler=REAL_TIME_PRIORITY)
            except OSError:  # another guest holds the name, or an ordinary user asks for the priority
                return spawn(argv, os.environ, console, descriptors=descriptors)

    def _qemu_arguments(self) -> list[str]:
        return [
            *("-machine", "q35", "-cpu", "max", "-accel", "tcg", "-smp", "1", "-m", str(self.memory_mb)),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", *CLOCKS[self.clock]),
            *("-kernel", str(self.stock.image), "-initrd", str(self.stock.initramfs)),
            *("-append", " ".join(self._kernel_arguments())),
            *("-serial", "stdio"),
            # the host's files, with the invoking user's rights, and none of them to be written
            *("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", "virtio-9p-pci,fsdev=root,mount_tag=/dev/root"),
            *("-device", "virtio-serial-pci", "-chardev", f"socket,id=channel,fd={CHANNEL_FD}"),
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
            # without this the boot panics when the first timer ticks are late, as they are on a busy machine
            "no_timer_check": "",
            # a run needs neither automatic addresses nor a security policy
            **({} if self.ipv6 else {"ipv6.disable": "1"}),
            "apparmor": "0",
        }
        for name, value in arguments.items():
            if len(value.split()) > 1:
                raise LabError(f"a kernel's command line cannot have {name}={value!r}: use a folder without spaces")
        return ["quiet", *(f"{name}={value}" if value else name for name, value in arguments.items())]

    def _send(self, frame: bytes) -> None:
        if self.clock == "counted" and self.pid:
            os.kill(self.pid, signal.SIGCONT)
        super()._send(frame)

    def receive(self) -> Frame:
        """As Lab.receive()."""
        frame = super().receive()
        if self.clock == "counted" and isinstance(frame, Reply):
            # until the next command an idle guest's clock would jump ahead as fast as it can
            os.kill(self.pid, signal.SIGSTOP)
        return frame

    def run(self, path: Network, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any) -> RunResult:
        """As RealTimeLab.run(), with two more attempts when a counted clock ran ahead of the run's preparation."""
        for _ in range(2):
            try:
                return super().run(path, flows, duration_s, **options)
            except GuestFailed as error:
                # A counted clock continues while the host reads a file for the guest; the next attempt finds it cached.
                if self.clock != "counted" or not str(error).startswith("RunLate"):
                    raise
        return super().run(path, flows, duration_s, **options)
