"""Builds the topologies of paths in unmodified Mininet. Runs in the guest.

router:    h1 (10.0.1.1) - r - (10.0.2.1) h2, with the bottleneck on r towards h2. Packets have 1500 bytes (no
           segmentation offload), so that every queue counts packets as a wire does.
router-4c: a dumbbell, the same with four senders, c1 (10.1.1.1), c2 (10.1.2.1), ..., each with its own link to r.
loopback:  one host, h0, with traffic on its `lo` in packets of 64 KB, as in the published tests.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path as FilePath
from typing import Any

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node

from env.network.clock import VIRTUAL
from env.network.path import MAX_CLIENTS, TOPOLOGIES, Path
from env.network.topology.bottleneck import (
    delay_commands,
    step_commands,
    toward_receiver_commands,
    toward_sender_commands,
)
from env.network.topology.links import (
    INDEPENDENT_RUNS,
    MAX_LINES,
    STOCK_BUFFERS,
    WIDE_BUFFERS,
    Command,
    LinkError,
    Tc,
    in_node,
    namespace,
    qdiscs,
    sysctl,
    sysctls,
)
from env.network.traces.format import load_trace
from env.network.traffic.endpoints import low_water_bytes, receive_argument, send_argument

RECEIVER_DEVICE = "r-h2"
# ECN_ON: both ends request ECN. ECN_DEFAULT, the kernel's: an end accepts ECN that the other one requests.
ECN_ON, ECN_DEFAULT = "1", "2"


class Topology:
    """A running Mininet whose path can be changed between runs.

    burst_us: of its bottlenecks (env/network/clock.py). ending: how its flows end, a word of the traffic program.
    """

    ending = "reset"

    def __init__(self, name: str, burst_us: float = VIRTUAL.burst_us) -> None:
        """Build and start the network called Path.network. Raises ValueError for an unknown name, LinkError."""
        kind, _, size = name.partition("-")
        if kind not in TOPOLOGIES or (size and not re.fullmatch(r"[1-9]\d?c", size)):
            raise ValueError(f"topology {name!r} is unknown; it is one of {', '.join(TOPOLOGIES)}, router-2c, ...")
        clients = int(size.removesuffix("c")) if size else 1
        if clients > MAX_CLIENTS:
            raise ValueError(f"topology {name!r} has {clients} clients; at most {MAX_CLIENTS} are possible")
        self.kind, self.name, self._burst_us = kind, name, burst_us
        # Mininet's initialization only raises limits, which the lab sets where they are needed
        Mininet.inited = True
        self.net = Mininet(topo=None, build=False, controller=None)
        self._shaped: list[tuple[Node, str]] = []
        self._path: Path | None = None
        self._policed = self._ecn = False
        self._delay_lines = 0  # of tc, for the delay trace of this run
        if kind == "router":
            self._build_router(clients)
        else:
            self._build_loopback()
        self._tc = Tc(self._router if kind == "router" else self.receiver)

    def _host(self, name: str) -> Node:
        return self.net.addHost(name, cls=Node, ip=None, inNamespace=True)

    def _build_router(self, clients: int) -> None:
        alone = clients == 1
        self.senders = [self._host("h1" if alone else f"c{i + 1}") for i in range(clients)]
        r, h2 = self._host("r"), self._host("h2")
        for i, sender in enumerate(self.senders):
            self._link(sender, r, "10.0.1" if alone else f"10.1.{i + 1}", 1 if alone else 16 + i)
        self._link(h2, r, "10.0.2", 2)
        sysctl(r, {"net.ipv4.ip_forward": "1"})
        for host in (*self.senders, h2):
            sysctl(host, WIDE_BUFFERS | INDEPENDENT_RUNS)
        self.receiver, self.receiver_address = h2, "10.0.2.1"
        self._router = r

    def _link(self, host: Node, router: Node, subnet: str, number: int) -> None:
        """Connect a host with the router by a subnet of its own, with fixed addresses and without ARP."""
        near, far = f"{host.name}-{router.name}", f"{router.name}-{host.name}"
        near_mac, far_mac = f"02:00:00:00:{number:02x}:01", f"02:00:00:00:{number:02x}:fe"
        Link(host, router, intfName1=near, intfName2=far, addr1=near_mac, addr2=far_mac)
        # ARP would delay a connection's first round trip
        host_lines = [
            f"link set {near} gso_max_segs 1 up",
            f"addr add {subnet}.1/24 dev {near}",
            f"neigh add {subnet}.254 lladdr {far_mac} dev {near} nud permanent",
            f"route add default via {subnet}.254",
        ]
        router_lines = [
            f"link set {far} gso_max_segs 1 up",
            f"addr add {subnet}.254/24 dev {far}",
            f"neigh add {subnet}.1 lladdr {near_mac} dev {far} nud permanent",
        ]
        for node, lines in ((host, host_lines), (router, router_lines)):
            in_node(node, ["ip", "-batch", "-"], "\n".join(lines) + "\n")

    def _build_loopback(self) -> None:
        h0 = self._host("h0")
        in_node(h0, ["ip", "link", "set", "lo", "up"])
        sysctl(h0, STOCK_BUFFERS | INDEPENDENT_RUNS)
        self.senders = [h0]
        self.receiver, self.receiver_address = h0, "127.0.0.1"

    @property
    def _sender_devices(self) -> list[str]:
        return [f"{self._router.name}-{sender.name}" for sender in self.senders]

    def renew(self, path: Path) -> None:
        """Replace the tc process if it has grown: links.Tc.renew(). Call it before the path's run is seeded."""
        self._tc.renew(0 if path.delay_trace else MAX_LINES)
        self._delay_lines = 0

    def apply(self, path: Path, origin_ns: int) -> None:
        """Replace the network's impairments by the path's.

        origin_ns: the start of the run, and of its link trace, on CLOCK_MONOTONIC. Raises LinkError.
        """
        if path.network != self.name:
            raise ValueError(f"the path has topology {path.network}, the network {self.name}")
        commands: list[Command] = []
        if self.kind == "router":
            node, devices = self._router, [RECEIVER_DEVICE, *self._sender_devices]
            commands += toward_receiver_commands(path, RECEIVER_DEVICE, self._burst_us)
            extras = path.client_extra_rtt_ms or (0.0,)
            for device, extra_ms in zip(self._sender_devices, extras, strict=True):
                commands += toward_sender_commands(path, device, extra_ms, self._burst_us)
        else:
            node, devices = self.senders[0], ["lo"]
            commands += [command.removeprefix("tc ") for command in path.tc]
        removals = [f"qdisc del dev {device} root" for shaped, device in self._shaped if shaped is node]
        removals += [f"qdisc del dev {RECEIVER_DEVICE} clsact"] if self._policed else []
        if path.trace:
            self._upload_trace(path, origin_ns)
        try:
            self._tc(removals + commands)
        except LinkError:
            self._clear(devices)
            raise
        self._shaped = [(node, device) for device in devices]
        self._policed = bool(path.police_mbps)
        self._path = path
        if path.ecn != self._ecn:
            for host in (*self.senders, self.receiver):
                sysctl(host, {"net.ipv4.tcp_ecn": ECN_ON if path.ecn else ECN_DEFAULT})
            self._ecn = path.ecn

    def _clear(self, devices: list[str]) -> None:
        """Remove all qdiscs of the devices, so that the next path begins without any."""
        for device in devices:
            for place in ("root", "clsact"):
                with contextlib.suppress(LinkError):
                    self._tc([f"qdisc del dev {device} {place}"])
        self._shaped, self._policed = [], False

    def _upload_trace(self, path: Path, origin_ns: int) -> None:
        """Upload the trace for the router's next linktrace qdisc: kernel/lab/sch_linktrace.c."""
        options = f"limit {path.buffer_packets} start {origin_ns}\n"
        # the router's file, through /proc: a process in the router's namespace costs the lab more than a short run
        file = FilePath(f"/proc/{self._router.pid}/net/linktrace")
        try:
            with file.open("w") as upload:
                upload.write(options + load_trace(path.trace).text())
        except OSError as error:  # the module's file has the reason
            raise LinkError(file.read_text().strip() or str(error)) from error

    def step(self, before: Path, after: Path) -> None:
        """Change one path into another during a run. Raises LinkError."""
        commands = step_commands(before, after, RECEIVER_DEVICE, self._sender_devices, self._burst_us)
        self._tc(commands)

    def change_delay(self, path: Path, delay_ms: float) -> None:
        """Change the one-way delay during a run of a path with a delay trace. Raises LinkError."""
        commands = delay_commands(path, delay_ms, RECEIVER_DEVICE, self._sender_devices)
        self._delay_lines += len(commands)
        if self._delay_lines > MAX_LINES:
            # counted from the run's start: at the same time in every run, whatever the lab did before
            self._tc.renew(0)
            self._delay_lines = 0
        self._tc(commands)

    def endpoints(self, flows: list[dict[str, Any]], duration_s: float) -> list[str]:
        """Return both ends of all flows for the traffic program. Receivers stay until the run ends."""
        assert self._path is not None
        if self._path.ecn:
            self._set_ecn_echo(flows)
        low_water = low_water_bytes(self.kind, self._path.rate_mbps, len(flows))
        receiver = namespace(self.receiver)
        receives = [receive_argument(i, flow, receiver, low_water, duration_s) for i, flow in enumerate(flows)]
        sends = [
            send_argument(i, flow, namespace(self.senders[flow["client"] - 1]), self.receiver_address)
            for i, flow in enumerate(flows)
        ]
        return receives + sends

    def queue(self) -> tuple[str, list[str]]:
        """Return the network namespace and the devices of the bottleneck's ports."""
        if self.kind == "router":
            return namespace(self._router), [RECEIVER_DEVICE]
        return namespace(self.receiver), ["lo"]

    def _set_ecn_echo(self, flows: list[dict[str, Any]]) -> None:
        """Give the receiver's sockets DCTCP if a flow has it: only then do they echo each mark, as DCTCP needs.

        Other senders take this echo for congestion while marks arrive.
        """
        scheme = "dctcp" if any(flow["algorithm"] == "dctcp" for flow in flows) else "cubic"
        # a namespace may only choose a default that the first namespace allows
        subprocess.run(["sysctl", "-qw", "net.ipv4.tcp_allowed_congestion_control=reno cubic dctcp"], check=True)
        sysctl(self.receiver, {"net.ipv4.tcp_congestion_control": scheme})

    def describe(self) -> dict[str, Any]:
        """Return the qdiscs with their counters, and the sysctls that affect a run."""
        return {
            "qdiscs": [qdiscs(node, device) for node, device in self._shaped],
            "sysctls": sysctls(self.senders[0]),
        }
