# SPDX-License-Identifier: GPL-2.0
"""Instructions of cong_control(): all of them by callgrind, and ACK by ACK by the processor's own single steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from kernel.bench.build import BenchError, Kernel, run

# replay.c's functions that callgrind counts below
WAITING, DECIDING = "call_waiting", "call_deciding"

_FUNCTION = re.compile(r"(c?)fn=\((\d+)\)(?: (.*))?$")


class Count(NamedTuple):
    """Of all ACKs of a record, and of those among them that brought a decision."""

    acks: int
    instructions: int
    decisions: int
    decision_instructions: int

    @property
    def per_ack(self) -> float:
        """Return the mean of the ACKs that brought no decision."""
        return (self.instructions - self.decision_instructions) / (self.acks - self.decisions)

    @property
    def per_ack_and_decisions(self) -> float:
        """Return the mean of all ACKs: decisions shared out among them."""
        return self.instructions / self.acks

    @property
    def per_decision(self) -> float:
        """Return the mean of the ACKs that brought one."""
        return self.decision_instructions / self.decisions


def program(kernel: Kernel, scheme: str) -> list[str]:
    """Return the first words of the command that plays to a scheme, which has to be built."""
    return [str(kernel.folder / "bench" / f"replay_{scheme}"), scheme.removesuffix("_untraced")]


def count(kernel: Kernel, scheme: str, events: Path) -> Count:
    """Count every instruction of a record. Raises BenchError."""
    out = events.with_name(f"callgrind-{events.name}-{kernel.name}-{scheme}")
    # no part of a line or of a jump table matters: functions do
    tool = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-line=no"]
    toggles = [f"--toggle-collect={name}" for name in (WAITING, DECIDING)]
    run([*tool, *toggles, *program(kernel, scheme), "calls", str(events)])
    calls = callees(out.read_text())
    (waits, waiting), (decides, deciding) = calls.get(WAITING, (0, 0)), calls.get(DECIDING, (0, 0))
    if not waits:
        raise BenchError(f"callgrind saw no ACK: {out}")
    return Count(waits + decides, waiting + deciding, decides, deciding)


def callees(text: str) -> dict[str, tuple[int, int]]:
    """Return how often a function of a callgrind file calls, and the instructions of all that it calls."""
    names: dict[str, str] = {}
    totals: dict[str, tuple[int, int]] = {}
    caller, calls = "", 0
    for line in text.splitlines():
        if match := _FUNCTION.match(line):
            if match[3]:
                names[match[2]] = match[3]
            if not match[1]:
                caller = match[2]
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])
        elif calls:  # the line behind: a position, and what the calls took with all below them
            seen = totals.get(caller, (0, 0))
            totals[caller] = (seen[0] + calls, seen[1] + int(line.split()[1]))
            calls = 0
    return {names[number]: total for number, total in totals.items()}


def steps(kernel: Kernel, scheme: str, events: Path, every: int) -> tuple[list[int], list[int]]:
    """Return the instructions of every so many-th ACK, of those without a decision and of those with one.

    The processor stops after each instruction: tens of microseconds each in a virtual machine.
    """
    lines = run([*program(kernel, scheme), "step", str(events), str(every)]).splitlines()
    rows = [(int(instructions), decided == "1") for instructions, decided in map(str.split, lines)]
    return [n for n, decided in rows if not decided], [n for n, decided in rows if decided]
