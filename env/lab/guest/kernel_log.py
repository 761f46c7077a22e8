"""The kernel's log in the guest: what it says about a command that fails."""

from __future__ import annotations

import contextlib
import os

KMSG = "/dev/kmsg"
RECORD_BYTES = 8192  # a read returns one record, which is shorter
MOST_LINES = 5
# what it says about every module of a user, also when nothing fails
USUAL = ("taints kernel", "module verification failed")


class KernelLog:
    """The kernel's log. begin() comes before a command, and said() after it."""

    def __init__(self) -> None:
        self._file = -1
        with contextlib.suppress(OSError):  # lab=host may be in a container without it
            self._file = os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def begin(self) -> None:
        """Forget the messages of before."""
        with contextlib.suppress(OSError):
            os.lseek(self._file, 0, os.SEEK_END)

    def said(self) -> str:
        """Return "; the kernel says: ..." with the last messages since begin(); "" where there are none."""
        lines: list[str] = []
        with contextlib.suppress(OSError):  # BlockingIOError: no more; EPIPE: some have been overwritten
            while record := os.read(self._file, RECORD_BYTES):
                # "priority,sequence,time,flags;message", then lines of KEY=VALUE
                line = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
                lines += [line] if not any(usual in line for usual in USUAL) else []
        return f"; the kernel says: {'; '.join(lines[-MOST_LINES:])}" if lines else ""
