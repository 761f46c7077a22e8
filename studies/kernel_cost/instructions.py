# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions of cong_control(): in total with callgrind, per ACK by single-stepping the processor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from env.errors import UserError
from studies.kernel_cost.build import Kernel, run

# functions of replay.c; callgrind counts the instructions of their callees
WAITING, DECIDING = "call_waiting", "call_deciding"

_FUNCTION = re.compile(r"(c?)fn=\((\d+)\)(?: (.*))?$")


class Count(NamedTuple):
    """ACKs and instructions of a record; decisions and decision_instructions: of the ACKs with a decision."""

    acks: int
    instructions: int
    decisions: int
    decision_instructions: int

    @property
    def per_ack(self) -> float:
        """Return the mean instructions of an ACK without a decision."""
        return (self.instructions - self.decision_instructions) / (self.acks - self.decisions)

    @property
    def per_ack_and_decisions(self) -> float:
        """Return the mean instructions of an ACK, including decisions."""
        return self.instructions / self.acks

    @property
    def per_decision(self) -> float:
        """Return the mean instructions of an ACK with a decision."""
        return self.decision_instructions / self.decisions


def program(kernel: Kernel, scheme: str) -> list[str]:
    """Return the beginning of the command that replays to a scheme; build() must have built its program."""
    return [str(kernel.folder / "bench" / f"replay_{scheme}"), scheme.removesuffix("_untraced")]


def count(kernel: Kernel, scheme: str, events: Path) -> Count:
    """Count every instruction of a record. Raises UserError."""
    out = events.with_name(f"callgrind-{events.name}-{kernel.name}-{scheme}")
    # counts per function suffice, so source lines are left out
    tool = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-line=no"]
    toggles = [f"--toggle-collect={name}" for name in (WAITING, DECIDING)]
    run([*tool, *toggles, *program(kernel, scheme), "calls", str(events)])
    calls = callees(out.read_text())
    (waits, waiting), (decides, deciding) = calls.get(WAITING, (0, 0)), calls.get(DECIDING, (0, 0))
    if not waits:
        raise UserError(f"callgrind saw no ACK: {out}")
    return Count(waits + decides, waiting + deciding, decides, deciding)


def callees(text: str) -> dict[str, tuple[int, int]]:
    """Return for each function of a callgrind file the number of its calls and the instructions of its callees."""
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
        elif calls:  # the line after calls=: a position, and the instructions of the calls including their callees
            total = totals.get(caller, (0, 0))
            totals[caller] = (total[0] + calls, total[1] + int(line.split()[1]))
            calls = 0
    return {names[number]: total for number, total in totals.items()}


def steps(kernel: Kernel, scheme: str, events: Path, every: int) -> tuple[list[int], list[int]]:
    """Return the instructions of every `every`-th ACK, separately for ACKs without and with a decision.

    The processor traps after each instruction, which takes tens of microseconds in a virtual machine.
    """
    lines = run([*program(kernel, scheme), "step", str(events), str(every)]).splitlines()
    rows = [(int(instructions), decided == "1") for instructions, decided in map(str.split, lines)]
    return [n for n, decided in rows if not decided], [n for n, decided in rows if decided]
