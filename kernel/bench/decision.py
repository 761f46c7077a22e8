# SPDX-License-Identifier: GPL-2.0
"""The time of one decision, in user space with the kernel's code and flags, and what its tracepoint adds."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

from kernel.bench.build import Kernel, run
from kernel.bench.instructions import program

HIDDEN = (8, 16)
# instructions that do nothing: what the kernel has where a tracepoint that is off branches away
NOPS = ("0f 1f 44 00 00", "66 90")


class Times(NamedTuple):
    """ns. decision: of cong_control() that decides. besides: what the measurement itself takes, taken off, a median."""

    decision: list[float]
    besides: float


def decisions(kernel: Kernel, events: Path, batches: int) -> Times:
    """Time all decisions of a record, one after the other, so many times: a mean for each batch."""
    lines = run([*program(kernel, "ndm"), "decide", str(events), str(batches)]).splitlines()
    pairs = [tuple(map(float, line.split())) for line in lines]
    setting = statistics.median(setting for _, setting in pairs)
    return Times([whole - setting for whole, _ in pairs], setting)


def cold_decisions(kernel: Kernel, events: Path, calls: int) -> Times:
    """Time so many decisions, one by one, each with nothing of it in the caches near the processor."""
    calls_and_clock, clock = (
        [float(line) for line in run([*program(kernel, "ndm"), what, str(events), str(calls)]).splitlines()]
        for what in ("cold", "clock")
    )
    besides = statistics.median(clock)
    return Times([whole - besides for whole in calls_and_clock], besides)


def core(kernel: Kernel, hidden: int, batches: int) -> list[float]:
    """Time ndm_core_step() with so many hidden units: ns, a mean of 1000 for each batch."""
    return [float(line) for line in run([*program(kernel, "ndm"), "core", str(hidden), str(batches)]).splitlines()]


def tracepoint_places(kernel: Kernel) -> list[str]:
    """Return the code bytes, in hexadecimal, of each place where the tracepoint branches off; none in the lab."""
    return run([*program(kernel, "ndm"), "tracepoint"]).splitlines()


def is_nop(code: str) -> bool:
    """True for the bytes of an instruction that does nothing, with what follows a shorter one."""
    return code.startswith(NOPS)
