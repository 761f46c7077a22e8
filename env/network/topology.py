"""The two topologies, in unmodified Mininet. Runs in the guest.

router:    h1 (10.0.1.1) - r - (10.0.2.1) h2, the bottleneck on r towards h2, 1500-byte packets (no segmentation
           offload), so that every queue counts packets as a wire does.
loopback:  h0 alone, traffic on its `lo`, as the published tests ran: 64 KB packets.
"""

from __future__ import annotations

from typing import Any

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node

from env.network.endpoints import OWN_NAMESPACE, Side, low_water_bytes, receive_argument, send_argument
from env.network.links import (
    INDEPENDENT_RUNS,
    STOCK_BUFFERS,
    WIDE_BUFFERS,
    bottleneck_commands,
    in_node,
    sysctl,
    tc,
)
from env.network.path import TOPOLOGIES, Path

MAC = {
    "h1-r": "02:00:00:00:01:01",
    "r-h1": "02:00:00:00:01:fe",
    "r-h2": "02:00:00:00:02:fe",
    "h2-r": "02:00:00:00:02:01",
}


class Topology:
    """A running Mininet whose path can be changed between runs.

    sender, receiver: Mininet nodes. receiver_address: where the receiver listens. ending: how its flows end (the
    traffic program's word).
    """

    ending = "reset"

    def __init__(self, kind: str) -> None:
        """Build and start the network. Raises ValueError for an unknown kind, LinkError."""
        if kind not in TOPOLOGIES:
            raise ValueError(f"topology {kind!r} is unknown; it is one of {', '.join(TOPOLOGIES)}")
        self.kind = kind
        # Mininet's own initialisation only raises limits; the lab's are set where they are needed
        Mininet.inited = True
        self.net = Mininet(topo=None, build=False, controller=None)
        self._shaped: list[tuple[Node, str]] = []
        self._rate_mbps = 0.0
        if kind == "router":
            self._build_router()
        else:
            self._build_loopback()

    def _host(self, name: str, ip: str | None = None) -> Node:
        return self.net.addHost(name, cls=Node, ip=ip, inNamespace=True)

    def _build_router(self) -> None:
        h1, r, h2 = self._host("h1"), self._host("r"), self._host("h2")
        for sender, receiver, near, far in ((h1, r, "h1-r", "r-h1"), (r, h2, "r-h2", "h2-r")):
            Link(sender, receiver, intfName1=near, intfName2=far, addr1=MAC[near], addr2=MAC[far])
        for node, devices in (
            (h1, [("h1-r", "10.0.1.1", "10.0.1.254", "r-h1")]),
            (h2, [("h2-r", "10.0.2.1", "10.0.2.254", "r-h2")]),
            (r, [("r-h1", "10.0.1.254", "10.0.1.1", "h1-r"), ("r-h2", "10.0.2.254", "10.0.2.1", "h2-r")]),
        ):
            lines = []
            for device, address, neighbour, far in devices:
                lines += [f"link set {device} gso_max_segs 1 up", f"addr add {address}/24 dev {device}"]
                # a connection's first round trip is no place for ARP
                lines += [f"neigh add {neighbour} lladdr {MAC[far]} dev {device} nud permanent"]
                lines += [f"route add default via {neighbour}"] if node is not r else []
            in_node(node, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
        sysctl(r, {"net.ipv4.ip_forward": "1"})
        for host in (h1, h2):
            sysctl(host, WIDE_BUFFERS | INDEPENDENT_RUNS)
        self.sender, self.receiver, self.receiver_address = h1, h2, "10.0.2.1"
        self._router = r

    def _build_loopback(self) -> None:
        h0 = self._host("h0")
        in_node(h0, ["ip", "link", "set", "lo", "up"])
        sysctl(h0, STOCK_BUFFERS | INDEPENDENT_RUNS)
        self.sender = self.receiver = h0
        self.receiver_address = "127.0.0.1"

    def apply(self, path: Path) -> None:
        """Give the network the path's impairments in place of the last ones. Raises LinkError."""
        if path.topology != self.kind:
            raise ValueError(f"the path is of topology {path.topology}, the network of {self.kind}")
        if self.kind == "router":
            node, devices = self._router, ["r-h2", "r-h1"]
            commands = bottleneck_commands(path, *devices)
        else:
            node, devices = self.sender, ["lo"]
            commands = [command.removeprefix("tc ") for command in path.tc]
        removals = [f"qdisc del dev {device} root" for shaped, device in self._shaped if shaped is node]
        tc(node, removals + commands)
        self._shaped = [(node, device) for device in devices]
        self._rate_mbps = path.rate_mbps

    def sides(self, flows: list[dict[str, Any]], duration_s: float) -> list[Side]:
        """Return the traffic programs of a run: one receives all flows until the run ends, one sends them."""
        own, low_water = OWN_NAMESPACE, low_water_bytes(self.kind, self._rate_mbps)
        receives = [receive_argument(i, flow, own, low_water, duration_s) for i, flow in enumerate(flows)]
        sends = [send_argument(i, flow, own, self.receiver_address) for i, flow in enumerate(flows)]
        return [Side("receiver", self.receiver.popen, receives), Side("sender", self.sender.popen, sends)]

    def describe(self) -> dict[str, Any]:
        """Return the qdiscs with their counters and the sysctls that a run depends on."""
        names = sorted({*STOCK_BUFFERS, *INDEPENDENT_RUNS, "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_sack"})
        names += ["net.ipv4.tcp_recovery", "net.ipv4.tcp_ecn", "net.ipv4.tcp_timestamps", "net.core.default_qdisc"]
        values = in_node(self.sender, ["sysctl", "-e", *names])
        return {
            "qdiscs": [in_node(node, ["tc", "-s", "qdisc", "show", "dev", device]) for node, device in self._shaped],
            "sysctls": dict(line.split(" = ", 1) for line in values.splitlines() if " = " in line),
        }
