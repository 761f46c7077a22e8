"""A lab in five lines: one flow of Cubic over a path, in virtual time."""

from env.lab import VirtualLab
from env.network.path import Path

with VirtualLab(seed=1) as lab:
    flows = [{"scheme": "cubic", "start_s": 0.0, "duration_s": 10.0}]
    result = lab.run(Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1), flows, 10.0)
print(f"{result.flows[0].received_bytes * 8 / 10 / 1e6:.1f} Mbit/s")
