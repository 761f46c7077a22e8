"""Runs a user's script in the guest, and passes its output, input and signals between it and the host.

The host and the agent take turns: the agent sends a message as a REPLY, and the host answers it with a COMMAND. In the
virtual lab the wait for an answer takes no time, so the host's speed changes nothing for the script.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import json
import os
import resource
import select
import signal
import struct
import subprocess
import tarfile
import tempfile
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from channel import Gate, Port

LAYER = Path("/run/script")  # the script's changes of the file system are below it, in memory
WRITABLE_ROOT = Path(__file__).resolve().parent / "writable-root.sh"
STDOUT, STDERR = 1, 2
CHUNK = 1 << 16
PIPE_BYTES = 1 << 16  # what a pipe holds
TAR_BYTES = 1 << 20
DESCRIPTORS = (1024, 4096)  # soft and hard limit, as in a shell; the agent's are for Mininet's sake
# How often a silent script's host is asked whether there is input or a signal, by the guest's clock.
ASK_MS = 100
ASK_TERMINAL_MS = 20
ASK_BUSY_MS = 5  # while it is not clear which link carries so many packets
SOFTNET = Path("/proc/net/softnet_stat")
# In a millisecond: packets of all devices, with fewer of which no link is so fast, and bytes of one device: 20 Gbit/s.
BUSY_PACKETS, FAST_BYTES = 100, 2_500_000
FAST_LINK = (
    "lab: {device} carries more than 20 Gbit/s. A link without a rate carries what this machine can compute, and takes "
    "that long: set its rate, with TCLink and bw=100 or `mn --link tc,bw=100`"
)
OPAQUE = "trusted.overlay.opaque"


class Exchange:
    """Turns of messages and answers with the host, within one command of the agent."""

    def __init__(self, channel: Gate | Port) -> None:
        self._channel = channel

    def __call__(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and return the host's answer."""
        self._channel.write_reply(json.dumps({"ok": True, "result": message}).encode())
        answer: dict[str, Any] = json.loads(self._channel.read_command())["args"]
        return answer


def run(
    exchange: Exchange,
    argv: list[str],
    folders: list[str],
    environment: dict[str, str],
    stdin: str,
    terminal: tuple[int, int] | None,
    one_output: bool,
    builtin: str,
    begin: Callable[[], None],
    locked: bool,
) -> dict[str, Any]:
    """Run a program to its end.

    folders: those of the host that it sees, the first one is its working folder. environment: all of its variables.
    stdin: base64; unused with a terminal, (rows, columns). one_output: stdout and stderr go to the same file, in the
    order in which they are written. builtin: the kernel's modules.builtin, for modprobe. begin: called just before the
    program starts. locked: root may not load modules, with which it could call the host, nor control the agent. Returns
    its exit status, 128 + N after signal N, and the seconds it took by the guest's clock. Raises RuntimeError when its
    file system cannot be made.
    """
    _mount_layer(builtin)
    command = ["unshare", "--mount", "--propagation", "private", "--", str(WRITABLE_ROOT), str(LAYER), *folders, "--"]
    command += ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *argv]
    if locked:
        command = ["setpriv", "--bounding-set", "-sys_module,-sys_ptrace", "--", *command]
        Path("/proc/sys/kernel/usermodehelper/bset").write_text("0 0")  # programs that the kernel starts
        Path("/proc/sys/kernel/modules_disabled").write_text("1")
    if terminal is None:
        master, given = None, _input_file(stdin)
        outputs: dict[str, Any] = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT if one_output else subprocess.PIPE,
        }
    else:
        master, given = os.openpty()
        _set_size(given, terminal)
        outputs = {"stdout": given, "stderr": given}

    def settle() -> None:
        """In the child: schedule it as a program is, and make the terminal its own."""
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, DESCRIPTORS)
        if terminal is not None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(command, stdin=given, **outputs, preexec_fn=settle, start_new_session=True)
    os.close(given)
    streams = {process.stdout.fileno() if master is None else master: STDOUT}
    if process.stderr is not None:
        streams[process.stderr.fileno()] = STDERR
    if not os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]):
        raise RuntimeError(f"{WRITABLE_ROOT.name} failed: {_remaining(next(reversed(streams))).decode()}")
    begin()
    began_s = time.monotonic()
    process.send_signal(signal.SIGCONT)
    _Relay(exchange, process, streams, master, began_s).run()
    status = process.wait()
    return {"status": 128 - status if status < 0 else status, "seconds": time.monotonic() - began_s}


def _mount_layer(builtin: str) -> None:
    if LAYER.exists():
        raise RuntimeError("this lab has run a script already: boot another one")
    LAYER.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(LAYER)], check=True, capture_output=True, text=True)
    modules = Path(f"{LAYER}/upper{os.path.realpath('/lib')}/modules/{os.uname().release}")
    modules.mkdir(parents=True)
    (modules / "modules.builtin").write_text(builtin)


def _input_file(data: str) -> int:
    """Return a descriptor of a pipe that holds the data, or of an unlinked file if it is too long for a pipe."""
    content = base64.b64decode(data)
    reader, writer = os.pipe()
    if len(content) > PIPE_BYTES:
        os.close(reader)
        os.close(writer)
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.seek(0)
            return os.dup(file.fileno())
    os.write(writer, content)
    os.close(writer)
    return reader


class _Relay:
    """Passes a running program's output to the host, and the host's input and signals to the program.

    streams: descriptor -> STDOUT or STDERR. terminal: the descriptor of the program's terminal, or None.
    """

    def __init__(
        self,
        exchange: Exchange,
        process: subprocess.Popen[bytes],
        streams: dict[int, int],
        terminal: int | None,
        began_s: float,
    ) -> None:
        self._exchange = exchange
        self._process = process
        self._streams = streams
        self._terminal = terminal
        self._began_s = began_s
        self._poll = select.poll()
        for descriptor in streams:
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
        self._packets, self._sent, self._warned = 0, dict[tuple[Path, str], int](), False
        self._end = os.pidfd_open(process.pid)
        self._poll.register(self._end, select.POLLIN)

    def run(self) -> None:
        """Return when the program has ended and its output has been sent."""
        self._tell({})
        ended = False
        interval_ms = ASK_MS if self._terminal is None else ASK_TERMINAL_MS
        while not ended:
            asked_ms = ASK_BUSY_MS if self._sent else interval_ms
            ready = {descriptor for descriptor, _ in self._poll.poll(asked_ms)}
            ended = self._end in ready
            # programs that it leaves may still hold its streams: only what is there now belongs to it
            outputs = [
                (descriptor, self._read(descriptor)) for descriptor in self._streams if ended or descriptor in ready
            ]
            for descriptor, data in outputs:
                if data:
                    self._tell({"stream": self._streams[descriptor], "data": base64.b64encode(data).decode()})
            if not ready:
                self._tell(self._fast_link(asked_ms))
        os.close(self._end)

    def _fast_link(self, ms: int) -> dict[str, Any]:
        """Return the message that a link has no rate, once: from what each device has sent in the last milliseconds."""
        packets = int(SOFTNET.read_text().split()[0], 16)
        busy, self._packets = packets - self._packets > BUSY_PACKETS * ms, packets
        before, self._sent = self._sent, {}
        if not busy or self._warned:
            return {}
        for file in Path("/proc").glob("[0-9]*/net/dev"):  # of the network namespaces of all programs
            with contextlib.suppress(OSError):
                for line in file.read_text().splitlines()[2:]:
                    device, _, counts = line.partition(":")
                    self._sent[file, device.strip()] = int(counts.split()[8])
        for (file, device), sent in self._sent.items():
            if device != "lo" and sent - before.get((file, device), sent) > FAST_BYTES * ms:
                self._warned, self._sent = True, {}
                text = FAST_LINK.format(device=device) + ("\n" if self._terminal is None else "\r\n")
                return {"stream": STDERR, "data": base64.b64encode(text.encode()).decode()}
        return {}

    def _tell(self, message: dict[str, Any]) -> None:
        answer = self._exchange(message | {"seconds": time.monotonic() - self._began_s})
        if "signal" in answer:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, answer["signal"])
        if "size" in answer and self._terminal is not None:
            _set_size(self._terminal, answer["size"])
        if "input" in answer and self._terminal is not None:
            os.write(self._terminal, base64.b64decode(answer["input"]))

    def _read(self, descriptor: int) -> bytes:
        """Return what a stream holds; at its end, which for a terminal is an error, stop to wait for it."""
        data = _remaining(descriptor)
        if not data:
            with contextlib.suppress(KeyError):
                self._poll.unregister(descriptor)
        return data


def _set_size(terminal: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


def _remaining(descriptor: int) -> bytes:
    """Return what can be read from a descriptor without waiting."""
    pieces = []
    os.set_blocking(descriptor, False)
    with contextlib.suppress(OSError):
        while piece := os.read(descriptor, CHUNK):
            pieces.append(piece)
    return b"".join(pieces)


def send_changes(exchange: Exchange, folder: str) -> None:
    """Send the script's changes below a folder as a tar archive, in pieces.

    It has the files, folders and symbolic links that are new or changed. A character device stands for what is
    deleted, a FIFO for a file for which the guest's memory has no room: it has holes. A folder with the mark OPAQUE has
    none of its former content.
    """
    changed = Path(f"{LAYER}/upper{folder}")
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with tarfile.open(fileobj=_Pieces(exchange), mode="w|", format=tarfile.PAX_FORMAT, bufsize=TAR_BYTES) as archive:
        # what lies too deep to be listed is left out, as the host could not write it either
        found = (Path(parent, name) for parent, folders, files in os.walk(changed) for name in folders + files)
        for path in sorted(found):
            room -= _add(archive, path, str(path.relative_to(changed)), room)


def _add(archive: tarfile.TarFile, path: Path, name: str, room: int) -> int:
    """Add a path, and return the bytes of its content, at most `room`."""
    try:
        entry = archive.gettarinfo(str(path), name)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):  # a program that still runs has deleted it
            raise
        return 0
    if entry is None or entry.isfifo():  # also None for a socket
        return 0
    if entry.islnk():  # each name of a file is sent as a file
        entry.type, entry.size = tarfile.REGTYPE, path.stat().st_size
    if entry.isdir() and OPAQUE in os.listxattr(path, follow_symlinks=False):
        entry.pax_headers[OPAQUE] = "y"
    if entry.size > room:
        entry.type, entry.size = tarfile.FIFOTYPE, 0
    with path.open("rb") if entry.isreg() else contextlib.nullcontext() as file:
        archive.addfile(entry, file)
    return entry.size


class _Pieces:
    """A file object that sends what is written to it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def write(self, data: bytes) -> int:
        self._exchange({"tar": base64.b64encode(data).decode()})
        return len(data)
