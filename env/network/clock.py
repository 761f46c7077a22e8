"""What a lab's clock asks of the network code: the one place where a lab in virtual time and one in real time differ.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """A kind of clock.

    virtual: computing takes no time, so that both ends of a flow look at it in the same instant. grid_ns: a run begins
    at a multiple of it on CLOCK_MONOTONIC. preparation_s: from the command to the run's origin; links are changed and
    programs started within. uptime_s: the agent takes its first command then. burst_us: how much of its rate a
    bottleneck may send at once after a pause.
    """

    virtual: bool
    grid_ns: int
    preparation_s: float
    uptime_s: float
    burst_us: float

    def next_origin_ns(self) -> int:
        """Return the next point of the grid that leaves time to prepare a run, in ns of CLOCK_MONOTONIC."""
        return -(-(time.monotonic_ns() + round(self.preparation_s * 1e9)) // self.grid_ns) * self.grid_ns


# netem computes a packet's time as now + delay, unsigned, and with jitter beyond the base delay the sum is negative
# when the kernel has just booted: the packet then waits for ever. Its distribution ends at 4 standard deviations, and a
# path's jitter at 20 s: 80 s of uptime are enough for all, and cost nothing in virtual time.
#
# The kernel rounds a timer up to a multiple of 8^n ticks, the coarser the further it is away: 32,768 ticks of 1 ms for
# those of more than four minutes. Runs that begin on this grid have their time-outs at the same distance.
#
# htb sends while it has any token, and a microsecond's worth is the least that tc can say: one packet at a time, what a
# wire does.
VIRTUAL = Clock(virtual=True, grid_ns=32_768_000_000, preparation_s=1.0, uptime_s=100.0, burst_us=1.0)

# In real time a timer is late, and what htb may not send at once afterwards is lost to the link: the burst covers the
# lateness. Programs take real time to start. 10 s of uptime are enough for a jitter of 2.5 s.
REAL = Clock(virtual=False, grid_ns=1_000_000, preparation_s=5.0, uptime_s=10.0, burst_us=2000.0)

# A clock that counts instructions, one for each nanosecond, and jumps when there is nothing to do (QEMU's -icount). It
# jumps while the host reads a file for the guest, too: programs seem to take long to start.
COUNTED = Clock(virtual=False, grid_ns=1_000_000, preparation_s=60.0, uptime_s=10.0, burst_us=100.0)
