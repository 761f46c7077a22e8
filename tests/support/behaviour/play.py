"""Plays a script in the lab's guest: play.py SCRIPT GRID_NS, printing as JSON what was seen.

It begins at a multiple of GRID_NS of uptime, so that the kernel rounds its timers alike every time.

The kernel under test and its peer are two network namespaces, made anew for each script, at the ends of a veth. The
peer has no address: its kernel answers nothing, and its segments are written and read here, as packets. There is no
offload, so every segment is seen by itself, and there is no ARP. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.support.behaviour.script import Event, parse_script
from tests.support.behaviour.segment import Segment, Side, from_bytes, to_bytes

TESTED, PEER = ("192.0.2.1", 50000), ("192.0.2.2", 80)
MACS = {"tested": "02:00:00:00:00:01", "peer": "02:00:00:00:00:02"}
MTU_BYTES = 1500
TRACING = Path("/sys/kernel/tracing")
TRACEPOINT = TRACING / "events/ndm/ndm_decision/enable"
SLOTS = Path("/sys/module/tcp_ndm/parameters/slots")
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
# struct tcp_info: state, ca_state, retransmits, probes, backoff, then from byte 8 on unsigned ints
INFO_WORDS = {
    "rto_us": 0, "unacked": 4, "sacked": 5, "lost": 6, "retrans": 7, "srtt_us": 15, "ssthresh": 17, "cwnd": 18,
    "total_retrans": 23,
}  # fmt: skip
PACING_RATE_AT = 104  # bytes; a u64
SETTLE_NS = 100_000  # what the last event brings about comes within
ISN, BASE_MS = 1_000_000, 500_000  # of the peer

_CLONE_NEWNET = 0x40000000
_ETH_P_IP = 0x0800
_SO_TIMESTAMPNS = 35
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_libc = ctypes.CDLL(None, use_errno=True)
_DECISION = re.compile(r"decision=(\d+) x=([-\d,]+) action=([-\d,]+) cwnd=(\d+) srtt_us=(\d+)")


def new_namespace() -> int:
    """Enter a new network namespace and return a descriptor of it."""
    if _libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(namespace: int) -> None:
    """Go to a network namespace."""
    if _libc.setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def ip(command: str) -> None:
    """Run an ip command, which must succeed."""
    subprocess.run(["ip", *command.split()], check=True)


class Link:
    """The two namespaces and the peer's packet socket. This process is in the one of the kernel under test."""

    def __init__(self) -> None:
        peer = new_namespace()
        new_namespace()
        ip(f"link add tested address {MACS['tested']} mtu {MTU_BYTES} type veth peer name peer address {MACS['peer']} "
           f"mtu {MTU_BYTES} netns /proc/{os.getpid()}/fd/{peer}")  # fmt: skip
        # one segment at a time, so that each is paced and seen by itself
        ip("link set tested gso_max_segs 1 gso_max_size 2048 up")
        ip(f"address add {TESTED[0]}/24 dev tested")
        ip(f"neighbour add {PEER[0]} lladdr {MACS['peer']} dev tested nud permanent")
        tested = os.open("/proc/self/ns/net", os.O_RDONLY)
        enter(peer)
        ip("link set peer up")
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)
        self.socket.bind(("peer", _ETH_P_IP))
        enter(tested)
        self._mac = bytes.fromhex(MACS["tested"].replace(":", ""))

    def send(self, packet: bytes) -> None:
        """Send an IPv4 packet to the kernel under test."""
        self.socket.sendto(packet, ("peer", _ETH_P_IP, 0, 0, self._mac))

    def receive(self) -> tuple[int, bytes]:
        """Return a packet that the kernel under test has sent, and when: ns of CLOCK_REALTIME."""
        packet, ancillary, _, _ = self.socket.recvmsg(65536, 64)
        seconds, ns = struct.unpack("qq", ancillary[0][2])
        return seconds * 10**9 + ns, packet


def remember_ssthresh() -> None:
    """Have the kernel remember an ssthresh of 2 for the peer (tcp_metrics): from a connection to its address, here."""
    Path("/proc/sys/net/ipv4/tcp_no_ssthresh_metrics_save").write_text("0")
    ip("link set lo up")
    ip(f"address add {PEER[0]}/32 dev lo")
    ip(f"route replace local {PEER[0]} dev lo table local ssthresh lock 2")
    with socket.create_server(PEER) as server:
        client = socket.create_connection(PEER, source_address=(TESTED[0], 0))
        accepted, _ = server.accept()
        # the side that closes first waits in TIME_WAIT; the kernel stores its metrics on the way there
        client.close()
        accepted.close()
    ip(f"address del {PEER[0]}/32 dev lo")
    ip(f"route del local {PEER[0]} dev lo table local")


class Play:
    """One script as it runs. Times are ns since its beginning."""

    def __init__(self, events: list[Event], grid_ns: int) -> None:
        self.events = sorted((event for event in events if event.kind != ">"), key=lambda event: event.time_ns)
        self.end_ns = max(event.time_ns for event in events)
        self.link = Link()
        self.seen: list[tuple[int, Segment]] = []
        self.checks: list[dict[str, object]] = []
        self.tested = Side(socket.inet_aton(TESTED[0]), TESTED[1])
        self.peer = Side(socket.inet_aton(PEER[0]), PEER[1], ISN, BASE_MS)
        self.stamps = False  # whether the kernel's SYN had time stamps
        self.last_val_ms = 0  # the newest of them
        self.socket = socket.socket()
        (TRACING / "trace").write_text("")
        TRACEPOINT.write_text("1")
        self.origin_ns = (time.monotonic_ns() // grid_ns + 1) * grid_ns
        self.realtime_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()

    def run(self) -> dict[str, object]:
        """Play all events and return what was seen and checked."""
        for event in self.events:
            self._watch(event.time_ns)
            if event.segment:
                self._inject(event.segment, event.time_ns)
            elif event.kind == "call":
                self._call(*event.words)
            else:
                self.checks.append({"line": event.line, "values": getattr(self, "_" + event.words[0])()})
        self._watch(self.end_ns + SETTLE_NS)
        TRACEPOINT.write_text("0")
        return {
            "seen": [[at_ns, str(segment)] for at_ns, segment in self.seen if at_ns <= self.end_ns + SETTLE_NS],
            "checks": self.checks,
        }

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self.origin_ns

    def _watch(self, until_ns: int) -> None:
        """Record what the kernel sends until then, and what it has sent before."""
        poll = select.poll()
        poll.register(self.link.socket, select.POLLIN)
        while True:
            if poll.poll(0):
                self._record(*self.link.receive())
                continue
            left_ns = until_ns - self._now_ns()
            if left_ns <= 0:
                return
            # poll() counts whole milliseconds: the rest is slept, and the kernel stamps what comes meanwhile
            if not poll.poll(left_ns // 1_000_000):
                time.sleep(max(0, until_ns - self._now_ns()) / 1e9)

    def _record(self, at_ns: int, packet: bytes) -> None:
        if packet[12:16] != self.tested.address or packet[20:22] != self.tested.port.to_bytes(2):
            return
        segment = from_bytes(packet, self.tested, self.peer)
        if "S" in segment.flags and not self.seen:
            self.stamps = segment.options.val is not None
            self.tested = replace(self.tested, isn=segment.seq, base_ms=segment.options.val or 0)
            segment = from_bytes(packet, self.tested, self.peer)
        if segment.options.val is not None:
            self.last_val_ms = segment.options.val
        self.seen.append((at_ns - self.realtime_ns - self.origin_ns, segment))

    def _inject(self, segment: Segment, now_ns: int) -> None:
        options = segment.options
        if self.stamps and options.val is None:
            options = replace(options, val=now_ns // 1_000_000, ecr=self.last_val_ms)
        elif self.stamps and options.ecr is None:
            options = replace(options, ecr=self.last_val_ms)
        self.link.send(to_bytes(replace(segment, options=options), self.peer, self.tested))

    # -- what is called ------------------------------------------------------------------------------------------

    def _call(self, name: str, *words: str) -> None:
        if name == "model":
            SLOTS.write_text("+ndm builtin" if words[0] == "builtin" else f"+ndm {words[0]}.bin")
        elif name == "sysctl":
            Path(f"/proc/sys/net/ipv4/{words[0]}").write_text(words[1])
        elif name == "started":
            remember_ssthresh()
        elif name == "connect":
            self._connect()
        elif name == "write":
            sent = self.socket.send(bytes(int(words[0])))
            if sent != int(words[0]):
                raise RuntimeError(f"write {words[0]}: the socket took {sent} bytes")
        else:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, words[0].encode())

    def _connect(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 64 << 20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ndm")
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind(TESTED)
        self.socket.setblocking(False)
        self.socket.connect_ex(PEER)

    # -- what is checked -----------------------------------------------------------------------------------------

    def _info(self) -> dict[str, object]:
        data = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        words = struct.unpack_from("24I", data, 8)
        values: dict[str, object] = {name: words[index] for name, index in INFO_WORDS.items()}
        (pacing,) = struct.unpack_from("Q", data, PACING_RATE_AT)
        algorithm = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        return values | {
            "ca_state": CA_STATES[data[1]],
            "retransmits": data[2],
            "probes": data[3],
            "backoff": data[4],
            "pacing_rate": pacing,
            "algorithm": algorithm,
        }

    def _decision(self) -> dict[str, object]:
        """Return the fields of the newest decision as the tracepoint has them: inputs and actions in fixed point."""
        decisions = _DECISION.findall((TRACING / "trace").read_text())
        if not decisions:
            return {"number": "none"}
        number, x, actions, cwnd, srtt_us = decisions[-1]
        return {
            "number": int(number),
            "x": [int(value) for value in x.split(",")],
            "action": [int(value) for value in actions.split(",")],
            "cwnd": int(cwnd),
            "srtt_us": int(srtt_us),
        }


def main(script: str, grid_ns: str) -> None:
    """Play the script of a file and print what was seen."""
    print(json.dumps(Play(parse_script(Path(script).read_text()), int(grid_ns)).run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
