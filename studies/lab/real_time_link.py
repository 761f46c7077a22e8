"""Measure by packet capture, without TCP, the exactness of a stock kernel's network under QEMU.

    python -m studies.lab.real_time_link

It measures the delay of netem, and the rate of a bottleneck for several burst sizes of its htb. A late timer reduces
the rate of the link unless the burst compensates for it (env/network/clock.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from env.lab import LabError
from env.lab.stock.vm import CLOCKS, VmLab
from env.network.path import PACKET_BYTES, Path
from studies.lab.network_accuracy import impaired, overload, probe

DELAY_MS = 20.0
RATES_MBPS = (5.0, 20.0)
BURSTS_US = (1.0, 100.0, 500.0, 2000.0, 5000.0)
PACKETS = 4000


def measure_delay(lab: VmLab) -> str:
    """Return a row: the measured delay of netem."""
    path = impaired("router", delay_ms=DELAY_MS)
    delay_ms = probe(lab, path, PACKETS, size_bytes=64, interval_ns=2_000_000).delay_ns / 1e6
    median, p99 = np.percentile(delay_ms, (50, 99))
    return f"| delay {DELAY_MS:g} ms | | {delay_ms.mean():.2f} ms, median {median:.2f}, p99 {p99:.2f} |"


def measure_rate(lab: VmLab, rate_mbps: float) -> str:
    """Return a row: the rate of a bottleneck that is loaded with twice its rate."""
    arrivals = overload(lab, Path(rate_mbps=rate_mbps, rtt_ms=10, buffer_bdp=1), rate_mbps, PACKETS)
    span_ns = float(arrivals.captured_ns[-1] - arrivals.captured_ns[0])
    measured_mbps = (arrivals.number.size - 1) * PACKET_BYTES * 8 / span_ns * 1e3
    return f"| rate {rate_mbps:g} Mbit/s | {lab.burst_us:g} | {measured_mbps:.3f} Mbit/s |"


def main(argv: Sequence[str] | None = None) -> int:
    """Print a Markdown table for one kernel and clock."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kernel", default="6.12", help="version of the stock kernel (default 6.12)")
    parser.add_argument("--clock", choices=list(CLOCKS), default="real")
    arguments = parser.parse_args(argv)
    print("| configured | burst, us | measured |\n|---|---|---|")
    try:
        for burst_us in BURSTS_US:
            with VmLab(kernel=arguments.kernel, clock=arguments.clock, burst_us=burst_us) as lab:
                if burst_us == BURSTS_US[0]:
                    print(measure_delay(lab))
                for rate_mbps in RATES_MBPS:
                    print(measure_rate(lab, rate_mbps), flush=True)
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
