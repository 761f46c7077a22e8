# SPDX-License-Identifier: GPL-2.0
"""CPU time of bulk transfers in the lab: NDM compared with Cubic and with schemes that pace as NDM does."""

from __future__ import annotations

from dataclasses import dataclass

from env.errors import UserError
from env.lab import Lab, VirtualLab
from env.network.path import Path
from env.network.rack import Rack
from studies.kernel_cost.build import build_modules
from studies.speed.processes import cpu_seconds

SHORT_S = 2.0
# cubic_paced is Cubic with TCP's internal pacing, which NDM and BBR use
SCHEMES = ("cubic", "ndm", "cubic_paced", "bbr")
FULL = 0.95  # least goodput, as a share of the link's payload rate; below it transfers are not comparable


@dataclass(frozen=True)
class Bulk:
    """A bulk transfer that fills a link and loses nothing.

    send_memory_bytes: memory of the sender's socket (tcp_wmem), including the kernel's overhead per packet. It limits
    the window to less than the bottleneck's buffer, so that every scheme loses nothing and uses about as much of the
    processor's cache. sender: its node and device. payload_mbps: payload rate of the link. long_s: duration of the
    measured transfer.
    """

    name: str
    network: Path | Rack
    sender: tuple[str, str]
    send_memory_bytes: int
    payload_mbps: float
    long_s: float


# The usual case: packets of up to 64 KB, which the NIC splits. The rate is so high that pacing does not shrink them.
OFFLOAD = Bulk(
    "1 Gbit/s, 10 ms, segmentation offload",
    Rack(rate_mbps=1000, rtt_us=10_000, buffer_kb=8000), ("c1", "c1-sw1"), 6_000_000, 1000 * 1448 / 1538, 82.0,
)  # fmt: skip
# Here pacing shrinks packets, to the data that the pacing rate sends in a millisecond.
OFFLOAD_SLOWER = Bulk(
    "200 Mbit/s, 20 ms, segmentation offload",
    Rack(rate_mbps=200, rtt_us=20_000, buffer_kb=4000), ("c1", "c1-sw1"), 2_500_000, 200 * 1448 / 1538, 162.0,
)  # fmt: skip
# The worst case for pacing: every packet of 1500 bytes waits for a timer.
PACKETS = Bulk(
    "200 Mbit/s, 20 ms, packet by packet",
    Path(rate_mbps=200, rtt_ms=20, buffer_bdp=6), ("h1", "h1-r"), 2_000_000, 200 * 1448 / 1514, 42.0,
)  # fmt: skip
BULKS = (OFFLOAD, OFFLOAD_SLOWER, PACKETS)


@dataclass(frozen=True)
class Transfer:
    """One transfer. cpu_s: CPU time of all processes of the lab. gigabytes: 10^9 bytes read by the receiver.

    segments: sent by TCP. packets: sent by the host, each with one or more segments.
    """

    cpu_s: float
    gigabytes: float
    segments: int
    packets: int
    retransmits: int


@dataclass(frozen=True)
class Cost:
    """The cost of a gigabyte without the fixed cost of a run. packet_segments: mean number of segments in a packet."""

    cpu_s: float
    mbps: float
    packet_segments: float
    retransmits: int


def transfer(lab: Lab, bulk: Bulk, scheme: str, duration_s: float) -> Transfer:
    """Send at full rate for duration_s."""
    packets, cpu_s = packets_sent(lab, bulk), cpu_seconds(lab)
    flows = [{"scheme": scheme, "start_s": 0, "duration_s": duration_s}]
    flow = lab.run(bulk.network, flows, duration_s, seed=1).flows[0]
    cpu_s, packets = cpu_seconds(lab) - cpu_s, packets_sent(lab, bulk) - packets
    return Transfer(cpu_s, flow.received_bytes / 1e9, flow.segments_sent, packets, flow.retransmits)


def packets_sent(lab: Lab, bulk: Bulk) -> int:
    """Return how many packets the sender's device has sent so far."""
    node, device = bulk.sender
    return int(lab.call("execute", node=node, argv=["cat", f"/sys/class/net/{device}/statistics/tx_packets"]))


def repeat(lab: Lab, bulk: Bulk, scheme: str) -> Cost:
    """Return a scheme's cost from a short and a long transfer. Raises UserError when the link was not full."""
    short, long = (transfer(lab, bulk, scheme, duration_s) for duration_s in (SHORT_S, bulk.long_s))
    gigabytes = long.gigabytes - short.gigabytes
    mbps = gigabytes * 8e3 / (bulk.long_s - SHORT_S)
    if mbps < FULL * bulk.payload_mbps:
        raise UserError(f"{scheme} moved {mbps:.1f} of {bulk.payload_mbps:.1f} Mbit/s and did not fill the link")
    segments = long.segments / long.packets
    return Cost((long.cpu_s - short.cpu_s) / gigabytes, mbps, segments, long.retransmits)


def measure(bulk: Bulk, repetitions: int) -> dict[str, list[Cost]]:
    """Return the cost of each scheme in each repetition, in one lab; every repetition reverses the order.

    Raises LabError, UserError.
    """
    costs: dict[str, list[Cost]] = {scheme: [] for scheme in SCHEMES}
    with VirtualLab(seed=1, modules=("tcp_ndm", build_modules() / "cubic_paced.ko")) as lab:
        network = bulk.network
        lab.call("build", topology=network.topology if isinstance(network, Rack) else network.network)
        memory = f"net.ipv4.tcp_wmem=4096 16384 {bulk.send_memory_bytes}"
        lab.call("execute", node=bulk.sender[0], argv=["sysctl", "-q", "-w", memory])
        for scheme in SCHEMES:  # warm-up: the first transfers are not measured
            transfer(lab, bulk, scheme, SHORT_S)
        for repetition in range(repetitions):
            for scheme in SCHEMES if repetition % 2 == 0 else reversed(SCHEMES):
                costs[scheme].append(repeat(lab, bulk, scheme))
    return costs


def ratios(costs: dict[str, list[Cost]], scheme: str, to: str) -> list[float]:
    """Return the ratio of two schemes' CPU times, one for each repetition."""
    return [one.cpu_s / other.cpu_s for one, other in zip(costs[scheme], costs[to], strict=True)]
