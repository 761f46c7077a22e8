"""The traffic program (build/flow): one process for all runs of a lab. Runs in the guest."""

from __future__ import annotations

import contextlib
import os
import select
import struct
import subprocess
from typing import IO

from env.network.traffic.accounting import TrafficError

READY = b"ready\n"
STOP = b"stop\n"
LENGTH = struct.Struct("=Q")  # prefix of a record: its length, bytes
CHUNK = 1 << 16  # bytes read at once


class Program:
    """A process of the traffic program; env/network/traffic/flow/main.c describes its input and output.

    It keeps running between runs, because starting a process costs the lab more than a short run. A failed process is
    replaced.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._busy = False
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self._file], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def begin(self, words: list[str]) -> None:
        """Start a run. All receivers listen when this returns. Raises TrafficError when the program failed."""
        self._busy = True
        try:
            _pipe(self._process.stdin).write(" ".join(words).encode() + b"\n")
        except BrokenPipeError:
            raise self._failed() from None
        self._read(len(READY))

    def end(self, stop_fd: int) -> tuple[bytes, bool]:
        """Wait for the end of the run; return its record, and whether it was stopped early.

        stop_fd: the run ends at its POLLPRI. Raises TrafficError when the program failed.
        """
        answer = _pipe(self._process.stdout).fileno()
        poller = select.poll()
        poller.register(stop_fd, select.POLLPRI)
        poller.register(answer, select.POLLIN)
        early = False
        while True:
            for fd, _ in poller.poll():
                if fd == answer:
                    return self._record(), early
                early = True
                poller.unregister(stop_fd)
                self._stop()

    def give_up(self) -> None:
        """Kill the program if a run is under way, and start another."""
        if self._busy:
            self._process.kill()
            self._failed()

    def _stop(self) -> None:
        # a program that has failed meanwhile is noticed when its record is read
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).write(STOP)

    def _record(self) -> bytes:
        """Return what the program prints at the end of a run, and nothing else: mostly with one system call."""
        data = self._read(LENGTH.size, at_once=CHUNK)
        length = LENGTH.size + LENGTH.unpack_from(data)[0]
        record = data[LENGTH.size :] + self._read(length - len(data))
        self._busy = False
        return record

    def _read(self, length: int, at_once: int = 0) -> bytes:
        """Read so many bytes, or up to at_once if they are there."""
        data = bytearray()
        while len(data) < length:
            piece = os.read(_pipe(self._process.stdout).fileno(), max(length, at_once) - len(data))
            if not piece:
                raise self._failed()
            data += piece
        return bytes(data)

    def _failed(self) -> TrafficError:
        """Replace the failed process and return its error."""
        _, error = self._process.communicate()
        self._busy = False
        failed = TrafficError(
            f"the traffic program failed ({self._process.returncode}): {error.decode(errors='replace')}"
        )
        self._start()
        return failed


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # all streams are pipes
    return stream
