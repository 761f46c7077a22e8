"""Sends numbered UDP packets over a path, without TCP, and captures those that arrive. Runs in the guest."""

from __future__ import annotations

import base64
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from env.network.topology.path_topology import Topology

CAPTURE_DEVICES = {"router": "h2-r", "loopback": "lo"}
READY = b"ready\n"


class ProbeError(RuntimeError):
    """The probe program failed; the message has its output."""


def run(
    topology: Topology,
    program: str,
    origin_ns: int,
    size_bytes: int,
    count: int,
    burst: int,
    interval_ns: int,
    wait_ns: int,
) -> dict[str, Any]:
    """Send `count` packets with size_bytes of IP, `burst` at a time every interval_ns; capture until wait_ns later.

    origin_ns: time of the first burst on CLOCK_MONOTONIC. Returns start_ns, the same time on CLOCK_REALTIME, and
    `arrivals`: base64 of three int64 for each captured packet, in the order of arrival: its number, and the times at
    which it was sent and captured, ns of CLOCK_REALTIME. Raises ProbeError.
    """
    start_ns = origin_ns + time.time_ns() - time.monotonic_ns()
    bursts = -(-count // burst)
    end_ns = start_ns + (bursts - 1) * interval_ns + wait_ns
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    device = CAPTURE_DEVICES[topology.kind]
    capture = topology.receiver.popen([program, "capture", device, str(end_ns)], **piped)
    try:
        if capture.stdout.read(len(READY)) != READY:
            raise ProbeError(f"the capture did not start: {capture.stderr.read().decode()}")
        numbers = (size_bytes, count, burst, interval_ns, start_ns)
        send = [program, "send", topology.receiver_address, *map(str, numbers)]
        sender = topology.senders[0].popen(send, **piped)
        _, error = sender.communicate()
        if sender.returncode:
            raise ProbeError(f"the sender failed ({sender.returncode}): {error.decode()}")
        data, error = capture.communicate()
        if capture.returncode:
            raise ProbeError(f"the capture failed ({capture.returncode}): {error.decode()}")
    finally:
        if capture.poll() is None:
            capture.kill()
            capture.wait()
    return {"start_ns": start_ns, "arrivals": base64.b64encode(data).decode()}
