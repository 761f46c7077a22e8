"""Traffic of a run: starts build/flow on both sides and collects its samples. Runs in the guest."""

from __future__ import annotations

import base64
import os
import select
import signal
import struct
import subprocess
import time
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from env.network.topology import Topology

# As flow.c records them.
SENDER_COLUMNS = [
    *("flow", "t_s", "cwnd", "srtt_us", "rttvar_us", "min_rtt_us", "retransmits", "bytes_acked", "unacked", "lost"),
    *("ssthresh", "pacing_rate", "delivery_rate", "spurious"),
]
RECEIVER_COLUMNS = ["flow", "t_s", "bytes"]

# On 1500-byte packets a receiver's wake-ups would cost more than the packets: it wakes for half a second's worth.
# On loopback a packet has 64 KB, and the published tests' receivers took each as it came.
WAKE_S = 0.5
LOW_WATER_RANGE_BYTES = (1 << 16, 1 << 20)
SETTLE_S = 0.05  # virtual: the receiver listens, then both sides count from the same origin


class TrafficError(RuntimeError):
    """A traffic program that failed; the message is what it printed."""


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # every stream here was asked for as a pipe
    return stream


def _samples(name: str, columns: list[str], data: bytes) -> dict[str, Any]:
    row_bytes = 8 * len(columns)
    if len(data) % row_bytes:
        raise TrafficError(f"the {name} was cut off: {len(data)} bytes are no whole rows of {row_bytes}")
    return {"columns": columns, "data": base64.b64encode(data).decode()}


def _last(columns: list[str], data: bytes, flow: int) -> dict[str, float]:
    """Return the last row of a flow by column name; empty when it has none."""
    row = struct.Struct(f"{len(columns)}d")
    for offset in range(len(data) - row.size, -1, -row.size):
        values = row.unpack_from(data, offset)
        if values[0] == flow:
            return dict(zip(columns, values, strict=True))
    return {}


def run(
    topology: Topology,
    program: str,
    flows: list[dict[str, Any]],
    rate_mbps: float,
    duration_s: float,
    sample_ms: int,
    stopped: Callable[[], bool],
    stop_fd: int,
) -> dict[str, Any]:
    """Send all flows and return what both sides saw.

    flows: dicts with scheme, start_s, duration_s. rate_mbps: of the bottleneck. sample_ms 0: only the last sample of
    each flow. stop_fd: polled for POLLPRI; when stopped() is true the run ends early.

    Raises TrafficError when a program fails, with what it printed.
    """
    origin_ns = time.monotonic_ns() + int(SETTLE_S * 1e9)
    duration_ms = round(duration_s * 1000)
    low_water = low_water_bytes(topology.kind, rate_mbps)
    receive = [program, "receive", origin_ns, sample_ms, low_water, duration_ms, len(flows)]
    send = [program, "send", topology.receiver_address, origin_ns, sample_ms]
    send += [f"{f['scheme']},{round(f['start_s'] * 1000)},{round(f['duration_s'] * 1000)}" for f in flows]
    sides: list[subprocess.Popen[bytes]] = []
    output: dict[int, bytearray] = {}
    try:
        for node, argv in ((topology.receiver, receive), (topology.sender, send)):
            process = node.popen([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            sides.append(process)
            output[_pipe(process.stdout).fileno()] = bytearray()
            if process is sides[0] and _pipe(process.stdout).read(6) != b"ready\n":
                raise TrafficError(f"the receiver did not start: {_pipe(process.stderr).read().decode()}")
        _collect(sides, output, stopped, stop_fd)
    finally:
        for process in sides:
            if process.poll() is None:
                process.kill()
            process.wait()
    for name, process in zip(("receiver", "sender"), sides, strict=True):
        if process.returncode:
            raise TrafficError(f"the {name} failed ({process.returncode}): {_pipe(process.stderr).read().decode()}")
    received, sent = (bytes(output[_pipe(process.stdout).fileno()]) for process in sides)
    for process in sides:
        _pipe(process.stdout).close()
        _pipe(process.stderr).close()
    ends = [
        flow
        | {
            "received_bytes": int(_last(RECEIVER_COLUMNS, received, i).get("bytes", 0)),
            "retransmits": int(_last(SENDER_COLUMNS, sent, i).get("retransmits", 0)),
        }
        for i, flow in enumerate(flows)
    ]
    result: dict[str, Any] = {"duration_s": duration_s, "flows": ends}
    if sample_ms:
        result["sender"] = _samples("sender's record", SENDER_COLUMNS, sent)
        result["receiver"] = _samples("receiver's record", RECEIVER_COLUMNS, received)
    return result


def low_water_bytes(kind: str, rate_mbps: float) -> int:
    """Return SO_RCVLOWAT for a receiver on a topology; 0 leaves the kernel's default."""
    if kind == "loopback":
        return 0
    low, high = LOW_WATER_RANGE_BYTES
    return min(max(int(rate_mbps * 1e6 / 8 * WAKE_S), low), high)


def _collect(
    sides: list[subprocess.Popen[bytes]], output: dict[int, bytearray], stopped: Callable[[], bool], stop_fd: int
) -> None:
    """Read both sides until both have closed; on a stop, or when one side fails, ask the other to finish."""
    poller = select.poll()
    poller.register(stop_fd, select.POLLPRI)
    for fd in output:
        poller.register(fd, select.POLLIN)
    is_open = set(output)
    while is_open:
        for fd, _ in poller.poll():
            if fd == stop_fd:
                if stopped():
                    poller.unregister(stop_fd)
                    _finish(sides)
                continue
            data = os.read(fd, 1 << 20)
            output[fd] += data
            if not data:
                poller.unregister(fd)
                is_open.discard(fd)
                _finish(sides)


def _finish(sides: list[subprocess.Popen[bytes]]) -> None:
    for process in sides:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
