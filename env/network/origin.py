"""When a run begins: at a time at which the kernel's timers stand as they do for every other run.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import time

# The kernel rounds a timer up to a multiple of 8^n ticks, the coarser the further it is away: 32,768 ticks of 1 ms for
# those of more than four minutes. Runs that begin on this grid have their time-outs at the same distance.
GRID_NS = 32_768_000_000


def next_origin_ns(preparation_s: float) -> int:
    """Return the next point of the grid that leaves time to prepare the run, in ns of CLOCK_MONOTONIC."""
    return -(-(time.monotonic_ns() + round(preparation_s * 1e9)) // GRID_NS) * GRID_NS
