# SPDX-License-Identifier: GPL-2.0
"""Instructions of the BPF program in a stock kernel: an ACK, a decision, and what any BPF program costs per call.

The kernel adds up the time of each program (kernel.bpf_stats_enabled), which QEMU's counted clock makes a number of
instructions. Two paths have different shares of ACKs with a decision, so that two equations give the cost of each.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from env.checkout import BUILD, KERNEL
from env.errors import UserError
from env.lab.stock.vm import VmLab
from env.network.path import Path as NetworkPath
from studies.kernel_cost.build import OUTPUT, SOURCES, run

NAME, EMPTY = "ndm_bpf", "ndm_empty"
PROGRAMS = {NAME: "ndm_cong_control", EMPTY: "ndm_empty_control"}
CTL = BUILD / "ndmctl"
PATHS = (NetworkPath(rate_mbps=20, rtt_ms=40, buffer_bdp=1), NetworkPath(rate_mbps=10, rtt_ms=4, buffer_bdp=4))
DURATION_S = 15.0


@dataclass(frozen=True)
class Calls:
    """What a run has called. instructions: of all calls."""

    instructions: int
    calls: int
    decisions: int


@dataclass(frozen=True)
class Cost:
    """Instructions of a call without and with a decision, and of an empty program; each with the kernel's counting.

    load_s: to open, verify and register the object, at 10^9 instructions/s. verified: instructions that the
    verifier has followed. size: instructions of the program that decides. code: its bytes as machine code.
    """

    kernel: str
    ack: float
    decision: float
    empty: float
    load_s: float
    verified: int
    size: int
    code: int


def build() -> Path:
    """Build the program under a name of its own, and the empty one; returns their folder. Raises UserError."""
    folder = OUTPUT / "bpf"
    scripts = KERNEL / "bpf"
    run([str(scripts / "build.sh"), str(folder), NAME])
    run([str(scripts / "compile.sh"), str(SOURCES / "empty.bpf.c"), str(folder / "empty.bpf.o")])
    return folder


def load(lab: VmLab, folder: Path) -> re.Match[str]:
    """Load the program; returns seconds, its instructions, and those that the verifier has followed."""
    _shell(lab, "mount -t bpf bpf /sys/fs/bpf")
    said = _shell(lab, f"{CTL} load {folder}/ndm.bpf.o")
    match = re.search(r"in ([0-9.]+) s: .* has (\d+) instructions, (\d+)", said)
    if match is None:
        raise UserError(f"ndmctl load said {said!r}")
    return match


def measure(version: str) -> Cost:
    """Measure in a stock kernel. Raises LabError and UserError."""
    folder = build()
    with VmLab(kernel=version, modules=(), clock="counted", timeout_s=600) as lab:
        loaded = load(lab, folder)
        _shell(lab, "sysctl -q -w kernel.bpf_stats_enabled=1")
        _shell(lab, f"bpftool struct_ops register {folder}/empty.bpf.o")
        (first, second), (empty, _) = ([_run(lab, name, path) for path in PATHS] for name in (NAME, EMPTY))
        program = _program(lab, NAME)
    # first = ack * (calls - decisions) + decision * decisions, and the same for second
    shares = [run.decisions / run.calls for run in (first, second)]
    means = [run.instructions / run.calls for run in (first, second)]
    more = (means[1] - means[0]) / (shares[1] - shares[0])
    ack = means[0] - more * shares[0]
    return Cost(
        version,
        ack,
        ack + more,
        empty.instructions / empty.calls,
        float(loaded[1]),
        int(loaded[3]),
        int(loaded[2]),
        program["bytes_jited"],
    )


def _run(lab: VmLab, name: str, path: NetworkPath) -> Calls:
    before, decisions = _program(lab, name), _decisions(lab)
    lab.run(path, [{"scheme": name, "start_s": 0.0, "duration_s": DURATION_S}], DURATION_S, sample_ms=0)
    after = _program(lab, name)
    return Calls(
        after["run_time_ns"] - before.get("run_time_ns", 0),
        after["run_cnt"] - before.get("run_cnt", 0),
        _decisions(lab) - decisions,
    )


def _program(lab: VmLab, name: str) -> dict[str, int]:
    """Return what bpftool says of a scheme's cong_control()."""
    (program,) = (
        one
        for one in json.loads(_shell(lab, "bpftool -j prog show"))
        if PROGRAMS[name].startswith(one.get("name", "-"))
    )
    return dict(program)


def _decisions(lab: VmLab) -> int:
    return sum(one["decisions"] for one in json.loads(_shell(lab, f"{CTL} status --json"))["controls"])


def _shell(lab: VmLab, command: str) -> str:
    reply = lab.call("shell", command=command)
    if reply["status"]:
        raise UserError(f"{command}: {reply['stderr'].strip()}")
    return str(reply["stdout"])
