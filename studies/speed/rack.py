"""Measure the speed of a rack at 10 Gbit/s: `python -m studies.speed.rack`.

The flows are a stream from a client to a server for several packet sizes of the hosts, and 1 MB requests. Each line has
wall seconds per virtual second (the best of the repetitions, as on an idle core), rate and RTT.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from env.lab import Lab, VirtualLab
from env.network.rack import Rack

GSO_MAX_BYTES = (65536, 32768, 16384, 8192, 1514)
STREAM: dict[str, Any] = {"kind": "stream", "size_bytes": 1 << 18}
REQUEST: dict[str, Any] = {"kind": "request", "size_bytes": 1 << 20}


def measure(lab: Lab, rack: Rack, traffic: dict[str, Any], scheme: str, virtual_s: float) -> tuple[float, str]:
    """Run one flow; returns wall seconds per virtual second, and rate and RTT as text. Raises LabError."""
    flow = {"scheme": scheme, "start_s": 0.0, "duration_s": virtual_s, **traffic}
    begun = time.perf_counter()
    result = lab.run(rack, [flow], virtual_s, sample_ms=50)
    wall_s = time.perf_counter() - begun
    (measured,) = result.flows
    rate_mbps = measured.received_bytes * 8 / virtual_s / 1e6
    rtt_us = np.median(measured.sender["srtt_us"])
    return wall_s / virtual_s, f"{rate_mbps:.0f} Mbit/s, RTT {rtt_us:.0f} us"


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scheme", default="reno", help="a congestion control of the lab's kernel, or ndm or nv")
    parser.add_argument("--seconds", type=float, default=2.0, help="virtual seconds of each repetition")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args(argv)
    cases = [
        (f"stream in packets of {size} bytes", STREAM, replace(Rack(), gso_max_bytes=size)) for size in GSO_MAX_BYTES
    ]
    cases.append(("1 MB requests", REQUEST, Rack()))
    modules = [f"tcp_{arguments.scheme}"] if arguments.scheme in ("nv", "ndm") else []
    with VirtualLab(seed=1, modules=modules) as lab:
        for name, traffic, rack in cases:
            repetitions = [
                measure(lab, rack, traffic, arguments.scheme, arguments.seconds) for _ in range(arguments.repetitions)
            ]
            cost, rate_and_rtt = min(repetitions)
            print(f"{name}: {cost:.2f} wall s per virtual s, {rate_and_rtt}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
