# SPDX-License-Identifier: GPL-2.0
"""Measures the time of a decision, in user space with the kernel's code and flags, and the cost of its tracepoint."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

from studies.kernel_cost.build import Kernel, run
from studies.kernel_cost.instructions import program

HIDDEN = (8, 16)
# no-op instructions that the kernel puts in place of the branch of a disabled tracepoint
NOPS = ("0f 1f 44 00 00", "66 90")


class Times(NamedTuple):
    """Times in ns. decision: cong_control() with a decision. overhead: its median, already subtracted."""

    decision: list[float]
    overhead: float


def decisions(kernel: Kernel, events: Path, batches: int) -> Times:
    """Time all decisions of a record in sequence, `batches` times; the result has the mean of each batch."""
    lines = run([*program(kernel, "ndm"), "decide", str(events), str(batches)]).splitlines()
    pairs = [tuple(map(float, line.split())) for line in lines]
    overhead = statistics.median(setting for _, setting in pairs)
    return Times([total - overhead for total, _ in pairs], overhead)


def cold_decisions(kernel: Kernel, events: Path, calls: int) -> Times:
    """Time `calls` decisions individually, each after its code and data were evicted from the near caches."""
    totals, clock = (
        [float(line) for line in run([*program(kernel, "ndm"), what, str(events), str(calls)]).splitlines()]
        for what in ("cold", "clock")
    )
    overhead = statistics.median(clock)
    return Times([total - overhead for total in totals], overhead)


def core(kernel: Kernel, hidden: int, batches: int) -> list[float]:
    """Time ndm_core_step() with `hidden` units, ns; the result has the mean of 1000 calls for each batch."""
    return [float(line) for line in run([*program(kernel, "ndm"), "core", str(hidden), str(batches)]).splitlines()]


def tracepoint_places(kernel: Kernel) -> list[str]:
    """Return the code bytes, in hexadecimal, of each branch to the tracepoint; none in the lab."""
    return run([*program(kernel, "ndm"), "tracepoint"]).splitlines()


def is_nop(code: str) -> bool:
    """Return whether code bytes begin with a no-op; after a short no-op they include the next instruction."""
    return code.startswith(NOPS)
