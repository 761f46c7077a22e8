"""The kinds of a lab's clock. For the network code, virtual time and real time differ only here.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """A kind of clock.

    virtual: computation takes no time, so that both ends of a flow are sampled at the same instant. grid_ns: a run
    begins at a multiple of this on CLOCK_MONOTONIC. preparation_s: time from the command to the run's origin, in which
    links are changed and programs start. uptime_s: of the kernel when the agent takes its first command. burst_us: the
    burst that a bottleneck may send after a pause, as time at its rate.
    """

    virtual: bool
    grid_ns: int
    preparation_s: float
    uptime_s: float
    burst_us: float

    def next_origin_ns(self) -> int:
        """Return the next point of the grid that leaves time to prepare a run, in ns of CLOCK_MONOTONIC."""
        return -(-(time.monotonic_ns() + round(self.preparation_s * 1e9)) // self.grid_ns) * self.grid_ns


# netem computes a packet's departure as now + delay, unsigned. With jitter beyond the base delay this sum is negative
# soon after the boot, and the packet waits for ever. netem's distribution ends at 4 standard deviations, and a path's
# jitter at 20 s: 80 s of uptime are enough, and cost nothing in virtual time.
#
# The kernel rounds a timer up to a multiple of 8^n ticks, which grows with its distance: 32,768 ticks of 1 ms beyond
# four minutes. Runs that begin on this grid have the same rounding of their time-outs.
#
# htb sends while it has any token: a microsecond's worth lets one packet leave at a time, as on a wire.
VIRTUAL = Clock(virtual=True, grid_ns=32_768_000_000, preparation_s=1.0, uptime_s=100.0, burst_us=1.0)

# In real time a timer is late, and the link loses what htb may not send at once afterwards: the burst covers the
# lateness. Programs take real time to start. 10 s of uptime are enough for a jitter of 2.5 s.
REAL = Clock(virtual=False, grid_ns=1_000_000, preparation_s=5.0, uptime_s=10.0, burst_us=2000.0)

# A clock that advances by a nanosecond for each instruction, and jumps when the guest is idle (QEMU's -icount). It also
# jumps while the host reads a file for the guest, so programs seem to take long to start.
COUNTED = Clock(virtual=False, grid_ns=1_000_000, preparation_s=60.0, uptime_s=10.0, burst_us=100.0)
