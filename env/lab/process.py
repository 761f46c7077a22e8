"""The host process of a guest: how it starts and ends, its console, and the bytes from it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import time
import weakref
from typing import TYPE_CHECKING, Any

from env.lab.core import Core
from env.lab.errors import GuestDied, GuestHung

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# user-mode Linux finds no folder for its control socket, which the lab does not use (uml_dir in env/lab/virtual.py)
WITHOUT_MEANING = ("make_umid - mkstemp(", "Failed to initialize umid ")
CONSOLE_LINES = 50  # a panic of Linux 6.1 takes 35 lines, and its cause is above them
LIVENESS_INTERVAL_S = 1.0  # how often a silent guest's process is checked
READ_BYTES = 1 << 18


def spawn(
    argv: list[str],
    environment: Mapping[str, str],
    console: int,
    *,
    descriptors: Mapping[int, int] | None = None,
    **options: Any,
) -> int:
    """Start a program as the leader of a new process group and return its id.

    Its output goes to the console's descriptor; its input is empty. descriptors: further ones, by the number that the
    program sees. Ctrl-C does not reach the new group: the lab's owner ends it. options: of os.posix_spawnp.
    """
    sources = {1: console, 2: console} | dict(descriptors or {})
    # the copies lie above all numbers of the program, so that dup2() overwrites no source that is still needed
    high = {number: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, max(sources) + 1) for number, source in sources.items()}
    try:
        return os.posix_spawnp(
            argv[0],
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                *((os.POSIX_SPAWN_DUP2, source, number) for number, source in high.items()),
            ],
            setpgroup=0,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGPIPE],
            **options,
        )
    finally:
        for source in high.values():
            os.close(source)


class GuestProcess:
    """A guest's process group, the host's end of the channel to it, and its console.

    start: a function that starts the process and returns its id, given the guest's end of the channel, the console's
    descriptor and the number of the CPU core to run on. Process, memory and channel end with close() or with the last
    reference.
    """

    def __init__(self, start: Callable[[socket.socket, int, int], int]) -> None:
        channel, guest_end = socket.socketpair()
        owned, lifeline = os.pipe()
        console = os.memfd_create("ndm-lab-console")
        core = Core()
        try:
            self.pid = start(guest_end, console, core.number)
            watcher = _watch(self.pid, owned)
            os.sched_setaffinity(watcher, {core.number})
        except BaseException:
            channel.close()
            os.close(console)
            os.close(lifeline)
            core.close()
            raise
        finally:
            guest_end.close()
            os.close(owned)
        seconds, fraction = divmod(LIVENESS_INTERVAL_S, 1)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), int(fraction * 1e6)))
        self._channel = channel
        self._console = console
        self.close = weakref.finalize(self, _end, os.getpid(), (self.pid, watcher), channel, (console, lifeline), core)

    def fileno(self) -> int:
        """Return the channel's descriptor."""
        return self._channel.fileno()

    def write(self, data: bytes) -> None:
        """Send bytes to the guest. Raises GuestDied."""
        try:
            self._channel.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise self._died() from None

    def read(self, timeout_s: float) -> bytes:
        """Wait for at least one byte from the guest. Raises GuestDied, or GuestHung after timeout_s of silence."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                data = self._channel.recv(READ_BYTES)
            except BlockingIOError:
                if self._has_ended():
                    raise self._died() from None
                if time.monotonic() > deadline:
                    raise GuestHung(f"the guest gave no answer within {timeout_s:g} s") from None
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                raise self._died() from None
            return data

    def console(self) -> str:
        """Return the guest's last console lines."""
        size = os.fstat(self._console).st_size
        text = os.pread(self._console, 16384, max(0, size - 16384)).decode(errors="replace")
        lines = [line for line in text.splitlines() if not line.startswith(WITHOUT_MEANING)]
        return "\n".join(lines[-CONSOLE_LINES:])

    def _has_ended(self) -> bool:
        """Return whether the process is a zombie or gone; _end() reaps it."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _died(self) -> GuestDied:
        """Return the error of a closed channel, once the console is complete."""
        deadline = time.monotonic() + 5
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(0.01)
        return GuestDied("the lab kernel ended")


def _watch(group: int, owned: int) -> int:
    """Start a program that kills a group when this process, which has the pipe's other end, ends; returns its id.

    PR_SET_PDEATHSIG would do so when the thread ends that started the guest.
    """
    actions = [(os.POSIX_SPAWN_DUP2, owned, 0), *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2))]
    return os.posix_spawn("/bin/sh", ["sh", "-c", "read -r _; kill -KILL 0"], {}, file_actions=actions, setpgroup=group)


def _end(
    owner: int, processes: tuple[int, ...], channel: socket.socket, descriptors: tuple[int, ...], core: Core
) -> None:
    """Kill and reap the guest's process group, which its first process leads, and close its descriptors. A forked child
    of the owner only closes."""
    channel.close()
    core.close()
    if os.getpid() == owner:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(processes[0], signal.SIGKILL)
        for process in processes:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
    for descriptor in descriptors:
        os.close(descriptor)
