"""The ends of flows in the format of the traffic program (env/network/traffic/flow/main.c).

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

from typing import Any

KINDS = ("bulk", "stream", "request", "web")
MAX_FLOWS = 1000  # the traffic program's
CROWD = 100  # flows; more of them share the memory of so many, as in env/network/traffic/flow/sender.c

# With 1500-byte packets a receiver's wake-ups would cost more than the packets, so it wakes once for half a second's
# data. On loopback a packet has 64 KB, and the published tests' receivers read each one as it came.
WAKE_S = 0.5
LOW_WATER_RANGE_BYTES = (1 << 16, 1 << 20)


def flow_with_defaults(flow: dict[str, Any]) -> dict[str, Any]:
    """Return the flow of a COMMAND with all keys. The default is bulk traffic from the first client to the first
    server, with the congestion control that has the scheme's name."""
    defaults = {"kind": "bulk", "client": 1, "server": 1, "size_bytes": 0, "receive_buffer_bytes": 0}
    return defaults | {"algorithm": flow["scheme"]} | flow


def low_water_bytes(kind: str, rate_mbps: float, flows: int) -> int:
    """Return SO_RCVLOWAT for a receiver of bulk traffic on this kind of topology; 0 leaves the kernel's default."""
    if kind == "loopback":
        return 0
    low, high = LOW_WATER_RANGE_BYTES
    return min(max(int(rate_mbps * 1e6 / 8 * WAKE_S), low), max(low, high * CROWD // max(flows, CROWD)))


def receive_argument(index: int, flow: dict[str, Any], namespace: str, low_water: int, end_s: float) -> str:
    """Return the receiving end of a flow. A server wakes for a whole request, other receivers at the low-water mark."""
    kind, size_bytes = flow["kind"], flow["size_bytes"]
    mark = size_bytes if kind == "request" else low_water
    buffer = flow["receive_buffer_bytes"]
    argument = f"receive,{index},{namespace},{kind},{size_bytes},{mark},{buffer},{round(end_s * 1e6)}"
    return f"{argument},{flow['seed']}" if kind == "web" else argument


def queue_argument(namespace: str, devices: list[str]) -> str:
    """Return the ports whose queues are sampled, all in one namespace."""
    return f"queue,{namespace},{','.join(devices)}"


def send_argument(index: int, flow: dict[str, Any], namespace: str, address: str) -> str:
    """Return the sending end of a flow."""
    start_us, duration_us = round(flow["start_s"] * 1e6), round(flow["duration_s"] * 1e6)
    traffic = f"{flow['algorithm']},{flow['kind']},{flow['size_bytes']}"
    argument = f"send,{index},{namespace},{address},{traffic},{start_us},{start_us + duration_us}"
    if not flow.get("pause_s"):
        return argument
    return f"{argument},{flow.get('seed', 0)},{round(flow['pause_s'] * 1e6)}"
