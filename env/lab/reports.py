"""What a guest's kernel has to report against itself: the findings of the sanitizers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from env.lab.errors import LabError

if TYPE_CHECKING:
    from env.lab.virtual import VirtualLab

# KASAN and lockdep say BUG or WARNING, UBSAN its name, the stall detectors INFO. Leaks have a file of their own.
_REPORT = re.compile(
    r"BUG:|WARNING:|UBSAN:|INFO: \w.*(?:detected|blocked)|Oops|general protection"
    r"|Kernel panic"
)
_KMEMLEAK = "/sys/kernel/debug/kmemleak"
# kmemleak believes in a leak once it is 5 s old and two scans have found it unchanged.
_SCAN = f"sleep 6; echo scan >{_KMEMLEAK}; "


def kernel_log(lab: VirtualLab) -> str:
    """Return the guest's kernel log."""
    return _shell(lab, "dmesg")


def find_reports(log: str) -> list[str]:
    """Return the lines of a kernel log that report a fault."""
    return [line for line in log.splitlines() if _REPORT.search(line)]


class LeakWatch:
    """Memory that a sanitizer kernel loses from now on; what it lost while it booted is its own."""

    def __init__(self, lab: VirtualLab) -> None:
        self._lab = lab
        _shell(lab, f"[ -e {_KMEMLEAK} ] || mount -t debugfs debugfs /sys/kernel/debug")
        _shell(lab, f"{_SCAN * 3} echo clear >{_KMEMLEAK}")

    def leaks(self) -> list[str]:
        """Return kmemleak's lines: for each object lost its size, its first bytes and who allocated it."""
        return _shell(self._lab, f"{_SCAN * 3} cat {_KMEMLEAK}").splitlines()


def _shell(lab: VirtualLab, command: str) -> str:
    done = lab.call("shell", command=command)
    if done["status"]:
        raise LabError(f"{command}: {done['stderr']}")
    return str(done["stdout"])
