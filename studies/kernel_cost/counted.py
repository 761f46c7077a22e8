# SPDX-License-Identifier: GPL-2.0
"""Instructions per gigabyte in a stock kernel, NDM compared with Cubic and BBR. They do not depend on the host's load.

QEMU advances the guest's clock by one nanosecond per instruction. The time in which the guest's CPU is not idle is
therefore the number of instructions of sender, receiver and the network between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from env.lab import LabError, Reply, RunResult
from env.lab.stock.vm import VmLab
from env.network.path import Path
from studies.kernel_cost import bpf

KERNEL = "6.12"
SCHEMES = ("cubic", "ndm", bpf.NAME, "bbr")
PATH = Path(rate_mbps=100, rtt_ms=20, buffer_bdp=12)
SEND_MEMORY_BYTES = 2_500_000  # fills the link but not the buffer, so nothing is lost
SEGMENTS = 44  # maximum number in a packet, the usual value of hosts
SHORT_S, LONG_S = 3.0, 33.0
TICKS_PER_S = 100  # of /proc/stat


@dataclass(frozen=True)
class Counted:
    """The cost of a gigabyte (10^9 bytes) without a run's fixed cost. instructions: 10^9. mbps: of the transfer."""

    instructions: float
    mbps: float
    retransmits: int


@contextmanager
def machine() -> Iterator[VmLab]:
    """Boot the stock kernel and prepare its network. Raises LabError."""
    with VmLab(kernel=KERNEL, modules=("tcp_ndm",), clock="counted", timeout_s=1800) as lab:
        bpf.load(lab, bpf.build())
        lab.call("build", topology=PATH.network)
        lab.call("execute", node="h1", argv=["ip", "link", "set", "h1-r", "gso_max_segs", str(SEGMENTS)])
        memory = f"net.ipv4.tcp_wmem=4096 16384 {SEND_MEMORY_BYTES}"
        lab.call("execute", node="h1", argv=["sysctl", "-q", "-w", memory])
        for scheme in SCHEMES:  # warm-up: the first transfers are not measured
            _transfer(lab, scheme, SHORT_S)
        yield lab


def cost(lab: VmLab, scheme: str) -> Counted:
    """Return the cost of a gigabyte, from the difference between a short and a long transfer."""
    busy_s, gigabytes, _ = _transfer(lab, scheme, SHORT_S)
    long_busy_s, long_gigabytes, retransmits = _transfer(lab, scheme, LONG_S)
    more = long_gigabytes - gigabytes
    return Counted((long_busy_s - busy_s) / more, more * 8e3 / (LONG_S - SHORT_S), retransmits)


def _transfer(lab: VmLab, scheme: str, duration_s: float) -> tuple[float, float, int]:
    """Send for duration_s; returns seconds in which the CPU was not idle, gigabytes received, retransmits."""
    before = _busy_s(lab)
    # run() would refuse a late run, but here only the work counts
    lab.begin_run(PATH, [{"scheme": scheme, "start_s": 0.0, "duration_s": duration_s}], duration_s)
    reply = lab.receive()
    if not isinstance(reply, Reply):
        raise LabError("a learning flow asked for a decision")
    flow = RunResult.from_reply(reply.result).flows[0]
    return _busy_s(lab) - before, flow.received_bytes / 1e9, flow.retransmits


def _busy_s(lab: VmLab) -> float:
    """Return how long the guest's CPU has not been idle since the boot, s."""
    uptime, _, _, *ticks = lab.call("shell", command="cat /proc/uptime; head -1 /proc/stat")["stdout"].split()
    idle, iowait = (int(count) for count in ticks[3:5])
    return float(uptime) - (idle + iowait) / TICKS_PER_S
