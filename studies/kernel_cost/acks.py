# SPDX-License-Identifier: GPL-2.0
"""Records the ACKs that the lab's kernel passes to a congestion control, for replay by the benchmark programs."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from env.errors import UserError
from env.lab import VirtualLab
from env.network.path import Path as NetworkPath
from studies.kernel_cost.build import OUTPUT, build_modules


@dataclass(frozen=True)
class Connection:
    """A connection with a constant window. window: packets, more than the BDP of its path."""

    name: str
    path: NetworkPath
    window: int
    duration_s: float


# Longer than 20 s, so that BBR's cost includes PROBE_RTT, which it enters every 10 s.
STEADY = Connection("20 Mbit/s, 40 ms, no loss", NetworkPath(rate_mbps=20, rtt_ms=40, buffer_bdp=2), 80, 25.0)
FAST = Connection("500 Mbit/s, 20 ms, no loss", NetworkPath(rate_mbps=500, rtt_ms=20, buffer_bdp=2), 1000, 4.0)
LOSSY = Connection(
    "20 Mbit/s, 40 ms, 1 % lost", NetworkPath(rate_mbps=20, rtt_ms=40, buffer_bdp=2, loss_pct=1), 80, 25.0
)
CONNECTIONS = (STEADY, FAST, LOSSY)
ROOM = 200_000  # maximum number of events in a record


def record(connections: Sequence[Connection], folder: Path = OUTPUT) -> list[Path]:
    """Run each connection in a lab, write its events to a file in the folder, and return the files.

    Raises LabError, and UserError if a connection did not fill its link.
    """
    module = build_modules() / "ack_record.ko"
    files = []
    for number, connection in enumerate(connections):
        with VirtualLab(seed=1, memory_mb=1024) as lab:
            reply = lab.call("shell", command=f"insmod {module} packets={connection.window} room={ROOM}")
            if reply["status"]:
                raise UserError(f"ack_record.ko: {reply['stderr'].strip()}")
            flow = {"scheme": "ack_record", "start_s": 0, "duration_s": connection.duration_s}
            result = lab.run(connection.path, [flow], connection.duration_s)
            mbps = result.flows[0].received_bytes * 8e-6 / connection.duration_s
            if not connection.path.loss_pct and mbps < 0.9 * connection.path.rate_mbps:
                raise UserError(f"{connection.name}: {mbps:.1f} Mbit/s do not fill the link")
            reply = lab.call("shell", command="gzip -1 -c /proc/ack_record | base64 -w 0")
        file = folder / f"acks-{number}"
        file.write_bytes(gzip.decompress(base64.b64decode(reply["stdout"])))
        files.append(file)
    return files
