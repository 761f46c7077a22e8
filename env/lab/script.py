"""Runs a user's program in a lab: its output, input, interrupts and time limit, and the files that it writes."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from env.checkout import ROOT
from env.lab.changes import apply_changes
from env.lab.errors import LabError
from env.lab.protocol import Reply
from env.lab.surroundings import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from env.lab.lab import Lab

INTERRUPTED, OUT_OF_TIME = 130, 124  # exit statuses of a shell after Ctrl-C, and of timeout(1)
GRACE_S = 10.0  # wall seconds from the interrupt at the time limit until the program is killed, then the guest
HUNG_S = 60.0  # after that, until the guest counts as hung
NO_LIMIT_S = 1e9
CHANGES_TIMEOUT_S = 120.0
STDOUT = 1  # as in env/lab/guest/script.py
END_OF_INPUT = b"\x04"  # Ctrl-D
READ_BYTES = 4096


@dataclass(frozen=True)
class ScriptResult:
    """How a program ended.

    status: its exit status, 128 + N after signal N, INTERRUPTED or OUT_OF_TIME. guest_s: seconds by the guest's clock.
    wall_s: seconds by this machine's, without the guest's boot. written: the files below the working folder that it
    wrote.
    """

    status: int
    guest_s: float
    wall_s: float
    written: tuple[Path, ...] = ()


class Script:
    """A program that runs in a lab as root, with the machine's programs and a file system that it may change.

    argv: the program and its arguments. folder: its working folder, below which its changes come back to the host; what
    it writes elsewhere ends with the lab. visible: further folders that it must see, where they are below /tmp or /run,
    which are empty otherwise. stdin: its input. terminal: give it this process's terminal instead; the guest's clock
    then does not run ahead of the machine's. time_limit_s: wall seconds. date_s: when it begins, in seconds since 1970;
    None for the lab's time.
    """

    def __init__(
        self,
        lab: Lab,
        argv: Sequence[str],
        folder: Path,
        *,
        visible: Sequence[Path] = (),
        stdin: bytes = b"",
        terminal: bool = False,
        time_limit_s: float | None = None,
        date_s: int | None = None,
    ) -> None:
        self._lab = lab
        self._argv = list(argv)
        self._folder = folder.resolve()
        self._environment = environment(os.environ.get("TERM", "dumb") if terminal else "dumb")
        homes = [self._environment.get("HOME", ""), *self._environment.get("PYTHONPATH", "").split(":")]
        others = [*visible, *(Path(home) for home in homes if len(Path(home).parts) > 2 and Path(home).is_dir())]
        self._visible = [self._folder, *(other.resolve() for other in others), ROOT]
        self._stdin = stdin
        self._terminal = _Terminal() if terminal else None
        self._stop = _Stop(time_limit_s)
        self._date_s = date_s

    def run(self) -> ScriptResult:
        """Run it to its end. Its changes come back however it ends, unless the guest itself ends.

        The first Ctrl-C interrupts the program, the second one kills it, the third one raises KeyboardInterrupt. Raises
        GuestDied, GuestHung, GuestFailed, and LabError for changes that cannot be written.
        """
        with self._stop.counting_interrupts(), self._terminal or contextlib.nullcontext():
            result = self._relay()
        self._lab.timeout_s = CHANGES_TIMEOUT_S
        archive = io.BufferedReader(_Archive(self._lab, self._folder))
        return replace(result, written=tuple(apply_changes(archive, self._folder)))

    def _relay(self) -> ScriptResult:
        self._lab.begin_script(
            argv=self._argv,
            folders=list(dict.fromkeys(map(str, self._visible))),
            environment=self._environment,
            builtin="" if self._lab.builtin is None else self._lab.builtin.read_text(),
            date_s=self._date_s,
            stdin=base64.b64encode(self._stdin).decode(),
            terminal=None if self._terminal is None else self._terminal.size,
            one_output=os.path.samestat(os.fstat(1), os.fstat(2)),
        )
        message = _receive(self._lab)  # it has booted, and the program begins
        began_s = time.monotonic()
        self._stop.begin()
        while "status" not in message:
            if "data" in message:
                _write(sys.stdout if message["stream"] == STDOUT else sys.stderr, base64.b64decode(message["data"]))
            answer: dict[str, Any] = {} if self._terminal is None else self._terminal.answer(message["seconds"])
            self._lab.begin("answer", **answer, **self._stop.answer())
            if not select.select([self._lab], [], [], self._stop.remaining_s())[0]:
                self._stop.status = OUT_OF_TIME
                self._lab.end_programs()
            self._lab.timeout_s = HUNG_S
            message = _receive(self._lab)
        return ScriptResult(self._stop.status or message["status"], message["seconds"], time.monotonic() - began_s)


def _receive(lab: Lab) -> dict[str, Any]:
    reply = lab.receive()
    if not isinstance(reply, Reply):
        raise LabError("a script cannot use ndm_gym, whose decisions come from a training")
    message: dict[str, Any] = reply.result
    return message


def _write(stream: Any, data: bytes) -> None:
    stream.buffer.write(data)
    stream.buffer.flush()


class _Archive(io.RawIOBase):
    """The guest's archive of changes below a folder, as a file to read."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        super().__init__()
        self._lab = lab
        self._data = b""
        lab.begin("changes", folder=str(folder))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes; returns their number, 0 at the end."""
        if not self._data:
            message = _receive(self._lab)
            if message["tar"] is None:
                return 0
            self._data = base64.b64decode(message["tar"])
            self._lab.begin("answer")
        size = min(len(buffer), len(self._data))
        buffer[:size] = self._data[:size]
        self._data = self._data[size:]
        return size


class _Stop:
    """Counts Ctrl-C and watches the time limit. status: the exit status that follows, 0 for none."""

    def __init__(self, limit_s: float | None) -> None:
        self.status = 0
        self._limit_s = NO_LIMIT_S if limit_s is None else limit_s
        self._deadline_s = 0.0  # of the next signal, on time.monotonic()
        self._begun = False
        self._pressed = self._passed_on = 0

    @contextlib.contextmanager
    def counting_interrupts(self) -> Iterator[None]:
        """Count SIGINT instead of raising KeyboardInterrupt, up to the third one."""
        before = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _press(self, *_: object) -> None:
        self._pressed += 1
        if not self._begun or self._pressed > 2:
            raise KeyboardInterrupt

    def begin(self) -> None:
        """Start the time limit: the program begins."""
        self._begun = True
        self._deadline_s = time.monotonic() + self._limit_s

    def remaining_s(self) -> float:
        """Return the wall seconds within which the guest must give a sign of life."""
        return max(0.0, self._deadline_s - time.monotonic()) + GRACE_S

    def answer(self) -> dict[str, int]:
        """Return the signal that the program gets now, as part of an answer."""
        if self._passed_on < self._pressed:
            self._passed_on += 1
            self.status = self.status or INTERRUPTED
            return {"signal": signal.SIGINT if self._passed_on == 1 else signal.SIGKILL}
        if time.monotonic() < self._deadline_s:
            return {}
        number = signal.SIGKILL if self.status == OUT_OF_TIME else signal.SIGINT
        self.status = OUT_OF_TIME
        self._deadline_s = time.monotonic() + GRACE_S
        return {"signal": number}


class _Terminal:
    """This process's terminal, which a program in the guest has for its own while this is entered."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._saved = termios.tcgetattr(self._descriptor)
        self.size = self._read_size()
        self._origin_s = time.monotonic()  # the wall time at which the guest's clock, if it kept pace, showed 0

    def __enter__(self) -> None:
        tty.setraw(self._descriptor)

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._saved)

    def _read_size(self) -> tuple[int, int]:
        size = os.get_terminal_size(self._descriptor)
        return size.lines, size.columns

    def answer(self, guest_s: float) -> dict[str, Any]:
        """Wait until a key is pressed or this machine's clock has reached the guest's; return what was typed."""
        answer: dict[str, Any] = {}
        self._origin_s = max(self._origin_s, time.monotonic() - guest_s)
        wait_s = max(0.0, self._origin_s + guest_s - time.monotonic())
        if select.select([self._descriptor], [], [], wait_s)[0]:
            typed = os.read(self._descriptor, READ_BYTES) or END_OF_INPUT
            answer["input"] = base64.b64encode(typed).decode()
        if (size := self._read_size()) != self.size:
            self.size = answer["size"] = size
        return answer
