"""Reads the faults that a guest's kernel reports: findings of the sanitizers, and leaked memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from env.lab.errors import LabError

if TYPE_CHECKING:
    from env.lab.lab import Lab

# KASAN and lockdep print BUG or WARNING, UBSAN its name, the stall detectors INFO. Leaks are in a separate file.
_REPORT = re.compile(
    r"BUG:|WARNING:|UBSAN:|INFO: \w.*(?:detected|blocked)|Oops|general protection"
    r"|Kernel panic"
)
_KMEMLEAK = "/sys/kernel/debug/kmemleak"
# kmemleak reports an object that is 5 s old and that two scans found unreferenced.
_SCAN = f"sleep 6; echo scan >{_KMEMLEAK}; "


def kernel_log(lab: Lab) -> str:
    """Return the guest's kernel log."""
    return _shell(lab, "dmesg")


def find_reports(log: str) -> list[str]:
    """Return the lines of a kernel log that report a fault."""
    return [line for line in log.splitlines() if _REPORT.search(line)]


class LeakWatch:
    """Reports the memory that a sanitizer kernel leaks after this object is made; leaks of the boot do not count."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        _shell(lab, f"[ -e {_KMEMLEAK} ] || mount -t debugfs debugfs /sys/kernel/debug")
        _shell(lab, f"{_SCAN * 3} echo clear >{_KMEMLEAK}")

    def leaks(self) -> list[str]:
        """Return kmemleak's lines: for each leaked object its size, its first bytes and the allocating call stack."""
        return _shell(self._lab, f"{_SCAN * 3} cat {_KMEMLEAK}").splitlines()


def _shell(lab: Lab, command: str) -> str:
    reply = lab.call("shell", command=command)
    if reply["status"]:
        raise LabError(f"{command}: {reply['stderr']}")
    return str(reply["stdout"])
