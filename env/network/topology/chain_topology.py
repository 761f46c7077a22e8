"""A chain in unmodified Mininet: hosts h1, h2, ... and routers r1, r2, ..., in a row. Runs in the guest.

    r1 towards r2: netem, delay and loss -> htb, the link's rate -> the link's queue
    r2 towards r1: netem, delay

Each link has the qdiscs of a router path (env/network/topology/bottleneck.py). A host's own link to its router has
neither a rate nor a delay. Packets have 1500 bytes, as on a router path.

A router is a Linux bridge with fixed entries, as the rack's switch is. All routers share one network namespace, because
the traffic program samples the queues of one namespace, and one tc process then sets all links.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node

from env.network.chain import MAX_LINKS, Chain
from env.network.topology.bottleneck import toward_receiver_commands
from env.network.topology.links import (
    INDEPENDENT_RUNS,
    NETEM_LIMIT,
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
from env.network.traffic.endpoints import low_water_bytes, receive_argument, send_argument

AGEING_CS = "100000000"  # centiseconds until a bridge forgets an unused address: eleven days


class ChainTopology:
    """A running Mininet of hosts and routers, whose links can be changed between runs."""

    kind = "chain"
    ending = "reset"

    def __init__(self, name: str) -> None:
        """Build and start the chain called Chain.topology. Raises ValueError for another name, LinkError."""
        size = re.fullmatch(r"chain-(\d+)", name)
        if not size or not 1 <= int(size[1]) <= MAX_LINKS:
            raise ValueError(f"topology {name!r} is not a chain; the name of one is chain-3, for 3 links")
        self.name = name
        self._links = int(size[1])
        Mininet.inited = True
        self.net = Mininet(topo=None, build=False, controller=None)
        self.hosts = [self._host(f"h{i + 1}") for i in range(self._links + 1)]
        self.routers = self._host("routers")
        for i, host in enumerate(self.hosts, 1):
            Link(host, self.routers, intfName1=f"h{i}-r{i}", intfName2=f"r{i}-h{i}", addr1=_mac(i), addr2=_mac(i, 1))
        for i in range(1, self._links + 1):
            Link(
                self.routers, self.routers, intfName1=_forth(i), intfName2=_back(i), addr1=_mac(i, 2), addr2=_mac(i, 3)
            )
        self._set_up_hosts()
        self._set_up_routers()
        self._tc = Tc(self.routers)
        self._chain: Chain | None = None

    def _host(self, name: str) -> Node:
        return self.net.addHost(name, cls=Node, ip=None, inNamespace=True)

    def _set_up_hosts(self) -> None:
        for i, host in enumerate(self.hosts, 1):
            device = f"h{i}-r{i}"
            lines = [f"link set {device} gso_max_segs 1 up", f"addr add {_address(i)}/16 dev {device}"]
            # ARP would delay a connection's first round trip
            lines += [
                f"neigh add {_address(other)} lladdr {_mac(other)} dev {device} nud permanent"
                for other in range(1, len(self.hosts) + 1)
                if other != i
            ]
            in_node(host, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
            sysctl(host, WIDE_BUFFERS | INDEPENDENT_RUNS)

    def _set_up_routers(self) -> None:
        """Make a bridge of each router's ports, with the way to each host."""
        lines, entries = [], []
        for i in range(1, len(self.hosts) + 1):
            # With fixed entries, results do not depend on when a bridge learns and forgets addresses.
            lines += [f"link add r{i} type bridge ageing_time {AGEING_CS} mcast_snooping 0"]
            ports = [f"r{i}-h{i}"]
            ports += [_back(i - 1)] if i > 1 else []
            ports += [_forth(i)] if i <= self._links else []
            lines += [f"link set {port} gso_max_segs 1 master r{i} up" for port in ports]
            lines += [f"link set r{i} up"]
            for host in range(1, len(self.hosts) + 1):
                port = f"r{i}-h{i}" if host == i else _forth(i) if host > i else _back(i - 1)
                entries += [f"fdb replace {_mac(host)} dev {port} master static"]
        in_node(self.routers, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
        in_node(self.routers, ["bridge", "-batch", "-"], "\n".join(entries) + "\n")

    def renew(self, _chain: Chain) -> None:
        """Replace the tc process if it has grown: links.Tc.renew()."""
        self._tc.renew()

    def apply(self, chain: Chain) -> None:
        """Replace rates, delays, losses and queues of the links by the chain's. Raises LinkError."""
        if chain.topology != self.name:
            raise ValueError(f"the chain has topology {chain.topology}, the network {self.name}")
        commands: list[Command] = []
        if self._chain is not None:
            commands += [f"qdisc del dev {device} root" for device in self._devices()]
        for i, link in enumerate(chain.links, 1):
            path = chain.link_path(i - 1)
            commands += toward_receiver_commands(path, _forth(i), delay_ms=link.delay_ms)
            commands += [
                f"qdisc add dev {_back(i)} root handle 1: netem limit {NETEM_LIMIT} delay {link.delay_ms:.3f}ms"
            ]
        try:
            self._tc(commands)
        except LinkError:
            self._clear()
            raise
        self._chain = chain

    def _devices(self) -> list[str]:
        """Return the devices with qdiscs, link by link: in the direction of the data, and back."""
        return [device for i in range(1, self._links + 1) for device in (_forth(i), _back(i))]

    def _clear(self) -> None:
        """Remove all qdiscs, so that the next chain begins without any."""
        for device in self._devices():
            with contextlib.suppress(LinkError):
                self._tc([f"qdisc del dev {device} root"])
        self._chain = None

    def endpoints(self, flows: list[dict[str, Any]], duration_s: float) -> list[str]:
        """Return both ends of all flows for the traffic program. Receivers stay until the run ends."""
        assert self._chain is not None
        receives, sends = [], []
        for i, flow in enumerate(flows):
            client, server = flow["client"], flow["server"]
            rate_mbps = min(self._chain.links[link].rate_mbps for link in self._chain.route(client, server))
            low_water = low_water_bytes(self.kind, rate_mbps, len(flows))
            receives.append(receive_argument(i, flow, namespace(self.hosts[server - 1]), low_water, duration_s))
            sends.append(send_argument(i, flow, namespace(self.hosts[client - 1]), _address(server)))
        return receives + sends

    def queue(self) -> tuple[str, list[str]]:
        """Return the routers' network namespace and the devices of the links, in their order."""
        return namespace(self.routers), [_forth(i) for i in range(1, self._links + 1)]

    def describe(self) -> dict[str, Any]:
        """Return the qdiscs with their counters, and the sysctls that affect a run."""
        return {
            "qdiscs": [qdiscs(self.routers, device) for device in self._devices()],
            "sysctls": sysctls(self.hosts[0]),
        }


def _forth(link: int) -> str:
    """Return the device at which a link begins; links count from 1."""
    return f"r{link}-r{link + 1}"


def _back(link: int) -> str:
    """Return the device at which the link's way back begins."""
    return f"r{link + 1}-r{link}"


def _address(host: int) -> str:
    return f"10.2.0.{host}"


def _mac(number: int, port: int = 0) -> str:
    """Return the address of a host, or of its router's port (1), or of the first (2) or second (3) end of a link."""
    return f"02:00:00:02:{port:02x}:{number:02x}"
