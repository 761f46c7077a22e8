"""Finds the processes of a lab and measures their CPU time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from env.lab.lab import Lab

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def lab_processes(lab: Lab) -> Iterator[Path]:
    """Yield the /proc folders of a lab's processes."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                group = os.getpgid(int(entry.name))
            except ProcessLookupError:
                continue
            if group == lab.pid:
                yield entry


def cpu_seconds(lab: Lab) -> float:
    """Return the CPU time of a lab's processes, including those that have ended, s."""
    ticks = 0
    for process in lab_processes(lab):
        fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
        ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return ticks / TICKS_PER_S
