"""A rack in unmodified Mininet: hosts c1, c2, ... and s1, s2, ..., linked to a LinuxBridge, sw1. Runs in the guest.

    client NIC: htb, 10 Gbit/s -> wire: netem on an ifb, delay and 10 Gbit/s -> switch port: tbf, 10 Gbit/s, tail drop
    server NIC: netem, delay and 10 Gbit/s                                   -> switch port: the same

Segmentation offload is on, so a packet has up to gso_max_bytes, which take 52 us on a 10 Gbit/s link. Two hops that
store and forward whole packets would cost this time twice. A real NIC cuts the packet into frames of 1500 bytes, and a
switch forwards the first frame while the last one is on its way. So here a packet leaves the client's NIC when its
transmission begins, the wire delivers it to the switch when the transmission ends, and a free port of the switch
forwards it at once: a packet needs its transmission time once, and packets that meet at a port wait for each other
there.

netem detaches the packet from its socket, as a NIC does after the transmission: TCP's small queues count only the
packets that wait in the client's NIC.
"""

from __future__ import annotations

import re
from typing import Any

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node
from mininet.nodelib import LinuxBridge

from env.errors import UserError
from env.network.rack import Rack
from env.network.topology.links import (
    INDEPENDENT_RUNS,
    Command,
    Tc,
    host_commands,
    in_node,
    namespace,
    port_commands,
    qdiscs,
    sysctl,
    sysctls,
    wire_options,
)
from env.network.traffic.endpoints import low_water_bytes, receive_argument, send_argument

SWITCH = "sw1"
AGEING_CS = "100000000"  # centiseconds until the switch forgets an unused address: eleven days
# The paper's buffers are "large (> 4MB)" (section 4). A sender's grows with its window from Linux's default.
RACK_BUFFERS = {"net.ipv4.tcp_rmem": "4096 8388608 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216"}


class RackTopology:
    """A running Mininet of clients, a switch and servers, whose links can be changed between runs."""

    kind = "rack"
    ending = "deliver"

    def __init__(self, name: str) -> None:
        """Build and start the rack called Rack.topology. Raises ValueError for another name, LinkError."""
        size = re.fullmatch(r"rack-(\d+)c(\d+)s", name)
        if not size:
            raise ValueError(
                f"topology {name!r} is not a rack; the name of one is rack-2c1s, for 2 clients and 1 server"
            )
        self.name = name
        Mininet.inited = True
        self.net = Mininet(topo=None, build=False, controller=None)
        self.clients = [self._host(f"c{i + 1}") for i in range(int(size[1]))]
        self.servers = [self._host(f"s{i + 1}") for i in range(int(size[2]))]
        # in a namespace of its own, because racks of several sizes exist side by side
        self.switch = self.net.addSwitch(SWITCH, cls=LinuxBridge, inNamespace=True)
        hosts = [*self.clients, *self.servers]
        for host in hosts:
            names = {"intfName1": _nic(host), "intfName2": _port(host)}
            Link(host, self.switch, **names, addr1=self._mac(host), addr2=self._mac(host, port=1))
        for host in hosts:
            lines = [f"addr add {self._address(host)}/16 dev {_nic(host)}", f"link set {_nic(host)} up"]
            # ARP would delay a connection's first round trip
            lines += [
                f"neigh add {self._address(other)} lladdr {self._mac(other)} dev {_nic(host)} nud permanent"
                for other in hosts
                if other is not host
            ]
            in_node(host, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
            sysctl(host, RACK_BUFFERS | INDEPENDENT_RUNS)
        lines = [f"link set {_port(host)} up" for host in hosts]
        lines += [f"link add {_wire(client)} type ifb" for client in self.clients]
        lines += [f"link set {_wire(client)} up" for client in self.clients]
        in_node(self.switch, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
        # the switch would report that it joins a group of snooping switches
        in_node(self.switch, ["sysctl", "-qew", "net.ipv4.igmp_link_local_mcast_reports=0"])
        self.switch.start([])
        # With fixed entries, results do not depend on when the switch learns and forgets addresses.
        bridge = ["ip", "link", "set", SWITCH, "type", "bridge", "ageing_time", AGEING_CS, "mcast_snooping", "0"]
        in_node(self.switch, bridge)
        entries = [f"fdb replace {self._mac(host)} dev {_port(host)} master static" for host in hosts]
        in_node(self.switch, ["bridge", "-batch", "-"], "\n".join(entries) + "\n")
        self._tc = {node.name: Tc(node) for node in (*hosts, self.switch)}
        self._rack: Rack | None = None

    def _host(self, name: str) -> Node:
        return self.net.addHost(name, cls=Node, ip=None, inNamespace=True)

    def _address(self, host: Node) -> str:
        side = 1 if host in self.clients else 2
        return f"10.1.{side}.{host.name[1:]}"

    def _mac(self, host: Node, port: int = 0) -> str:
        """Return the address of a host's NIC, or (port 1) of the switch's port to it."""
        side = 1 if host in self.clients else 2
        return f"02:00:00:{port:02x}:{side:02x}:{int(host.name[1:]):02x}"

    def renew(self, _rack: Rack) -> None:
        """Replace the tc processes that have grown: links.Tc.renew()."""
        for tc in self._tc.values():
            tc.renew()

    def apply(self, rack: Rack) -> None:
        """Replace rate, delay and buffers of the links by the rack's. Raises LinkError."""
        if rack.topology != self.name:
            raise UserError(f"the rack has topology {rack.topology}, the network {self.name}")
        configured = self._rack is not None
        ports = []
        for host in (*self.clients, *self.servers):
            nic, port = _nic(host), _port(host)
            commands: list[Command] = [f"qdisc del dev {nic} root"] if configured else []
            if host in self.clients:
                commands += host_commands(rack, nic)
                ports += [f"qdisc del dev {_wire(host)} root"] if configured else []
                ports += [f"qdisc add dev {_wire(host)} root {wire_options(rack)}"]
                redirect = f"parent ffff: matchall action mirred egress redirect dev {_wire(host)}"
                ports += [f"qdisc del dev {port} ingress"] if configured else []
                ports += [f"qdisc add dev {port} ingress", f"filter add dev {port} {redirect}"]
            else:
                commands += [f"qdisc add dev {nic} root {wire_options(rack)}"]
            self._tc[host.name](commands)
            in_node(host, ["ip", "link", "set", nic, "gso_max_size", str(rack.gso_max_bytes)])
            sysctl(host, {"net.ipv4.tcp_limit_output_bytes": f"{rack.host_queue_kb * 1024:.0f}"})
            ports += [f"qdisc del dev {port} root"] if configured else []
            ports += port_commands(rack, port)
        self._tc[self.switch.name](ports)
        self._rack = rack

    def endpoints(self, flows: list[dict[str, Any]], duration_s: float) -> list[str]:  # noqa: ARG002 (as Topology's)
        """Return both ends of all flows for the traffic program. Flows end by their own clocks."""
        assert self._rack is not None
        low_water = low_water_bytes(self.kind, self._rack.rate_mbps, len(flows))
        receives, sends = [], []
        for i, flow in enumerate(flows):
            client, server = self.clients[flow["client"] - 1], self.servers[flow["server"] - 1]
            end_s = flow["start_s"] + flow["duration_s"]
            receives.append(receive_argument(i, flow, namespace(server), low_water, end_s))
            sends.append(send_argument(i, flow, namespace(client), self._address(server)))
        return receives + sends

    def queue(self) -> tuple[str, list[str]]:
        """Return the switch's network namespace and its ports to the servers."""
        return namespace(self.switch), [_port(server) for server in self.servers]

    def describe(self) -> dict[str, Any]:
        """Return the qdiscs with their counters, and the sysctls that affect a run."""
        segmentation = ("net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_tso_rtt_log", "net.ipv4.tcp_min_tso_segs")
        return {
            "qdiscs": [f"{node.name}\n{qdiscs(node)}" for node in (*self.clients, self.switch, *self.servers)],
            "sysctls": sysctls(self.clients[0], *segmentation),
        }


def _nic(host: Node) -> str:
    return f"{host.name}-{SWITCH}"


def _wire(host: Node) -> str:
    return f"wire-{host.name}"


def _port(host: Node) -> str:
    return f"{SWITCH}-{host.name}"
