"""Runs a user's script in the guest, and passes its output, input and signals between it and the host.

The host and the agent take turns: the agent sends a message as a REPLY, and the host answers it with a COMMAND. In the
virtual lab the wait for an answer takes no time, so the host's speed changes nothing for the script.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
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
    from collections.abc import Callable, Iterator

    from channel import Gate, Port

LAYER = Path("/run/script")  # the script's changes of the file system are below it, in memory
WRITABLE_ROOT = Path(__file__).resolve().parent / "writable-root.sh"
STDOUT, STDERR = 1, 2
CHUNK = 1 << 16
PIPE_BYTES = 1 << 16  # what a pipe holds
TAR_BYTES = 1 << 20
# How often a silent script's host is asked whether there is input or a signal, by the guest's clock.
ASK_MS = 100
ASK_TERMINAL_MS = 20
RELAY_PRIORITY = 2  # above the script's: output is passed on when it is written, so stdout and stderr keep their order
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
    begin: Callable[[], None],
) -> dict[str, Any]:
    """Run a program to its end.

    folders: those of the host that it sees, the first one is its working folder. stdin: base64; unused with a terminal,
    (rows, columns). begin: called just before the program starts. Returns its exit status, 128 + N after signal N, and
    the seconds it took by the guest's clock. Raises RuntimeError when its file system cannot be made.
    """
    _mount_layer()
    unshare = ["unshare", "--mount", "--propagation", "private", "--"]
    command = [*unshare, str(WRITABLE_ROOT), str(LAYER), *folders, "--", *argv]
    if terminal is None:
        master, given = None, _input_file(stdin)
        outputs: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    else:
        master, given = os.openpty()
        _set_size(given, terminal)
        outputs = {"stdout": given, "stderr": given}

    def settle() -> None:
        """In the child: schedule it as a program is, and make the terminal its own."""
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if terminal is not None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        command, stdin=given, **outputs, env=os.environ | environment, preexec_fn=settle, start_new_session=True
    )
    os.close(given)
    if master is None:
        streams = {process.stdout.fileno(): STDOUT, process.stderr.fileno(): STDERR}
    else:
        streams = {master: STDOUT}
    if not os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]):
        raise RuntimeError(f"{WRITABLE_ROOT.name} failed: {_remaining(next(reversed(streams))).decode()}")
    begin()
    began_s = time.monotonic()
    process.send_signal(signal.SIGCONT)
    with _priority():
        _Relay(exchange, process, streams, master, began_s).run()
    status = process.wait()
    return {"status": 128 - status if status < 0 else status, "seconds": time.monotonic() - began_s}


def _mount_layer() -> None:
    if LAYER.exists():
        raise RuntimeError("this lab has run a script already: boot another one")
    LAYER.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(LAYER)], check=True, capture_output=True, text=True)


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


@contextlib.contextmanager
def _priority() -> Iterator[None]:
    """Run before all programs, so that each output is passed on before the next one is written."""
    scheduler, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(RELAY_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, scheduler, parameters)


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
        self._end = os.pidfd_open(process.pid)
        self._poll.register(self._end, select.POLLIN)

    def run(self) -> None:
        """Return when the program has ended and its output has been sent."""
        self._tell({})
        ended = False
        interval_ms = ASK_MS if self._terminal is None else ASK_TERMINAL_MS
        while not ended:
            ready = {descriptor for descriptor, _ in self._poll.poll(interval_ms)}
            ended = self._end in ready
            # programs that it leaves may still hold its streams: only what is there now belongs to it
            outputs = [
                (descriptor, self._read(descriptor)) for descriptor in self._streams if ended or descriptor in ready
            ]
            for descriptor, data in outputs:
                if data:
                    self._tell({"stream": self._streams[descriptor], "data": base64.b64encode(data).decode()})
            if not ready:
                self._tell({})
        os.close(self._end)

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
    deleted, and a folder with the mark OPAQUE has none of its former content.
    """
    changed = Path(f"{LAYER}/upper{folder}")
    with tarfile.open(fileobj=_Pieces(exchange), mode="w|", format=tarfile.PAX_FORMAT, bufsize=TAR_BYTES) as archive:
        for path in sorted(changed.rglob("*")) if changed.is_dir() else []:
            _add(archive, path, str(path.relative_to(changed)))


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    try:
        entry = archive.gettarinfo(str(path), name)
    except FileNotFoundError:  # a program that still runs has deleted it
        return
    if entry is None or entry.isfifo():  # also None for a socket
        return
    if entry.islnk():  # each name of a file is sent as a file
        entry.type, entry.size = tarfile.REGTYPE, path.stat().st_size
    if entry.isdir() and OPAQUE in os.listxattr(path, follow_symlinks=False):
        entry.pax_headers[OPAQUE] = "y"
    if entry.isreg():
        with path.open("rb") as file:
            archive.addfile(entry, file)
    else:
        archive.addfile(entry)


class _Pieces:
    """A file object that sends what is written to it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def write(self, data: bytes) -> int:
        self._exchange({"tar": base64.b64encode(data).decode()})
        return len(data)
