"""Measure by packet capture, without TCP, whether the lab's network behaves as configured.

    python -m studies.lab.network_accuracy

The probe (studies/lab/probe.c) sends numbered UDP packets over a path, and the kernel stamps every arrival. The first
table is about netem: configured value, measured value and relative error, and the error that chance can cause, which is
three standard deviations of the binomial distribution. The samples for shares of packets (loss, duplication,
reordering) are so large that chance causes at most 1 %: 8.9 million packets for a share of 1 %. The second table is
about the bottleneck: the spacing of packets, and the capacity of the buffer.
"""

from __future__ import annotations

import argparse
import base64
import functools
import json
import math
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from env.checkout import BUILD
from env.lab import Lab, LabError, VirtualLab
from env.markdown import markdown_table
from env.network.path import PACKET_BYTES, Path
from env.network.topology.bottleneck import netem_options

IP_BYTES = 1500  # of a full packet; PACKET_BYTES with its Ethernet header
PACKETS = 1_000_000  # of a probe, as its result must fit into the lab's memory; also of rows that are not a share
# a bottleneck's rates in Mbit/s with the RTTs in ms, and its buffers
LINKS = ((1, 100), (20, 40), (1000, 4), (10_000, 0.4))
BUFFERS_BDP = (0.2, 1, 8)
CLOCK_NS = 258  # tolerance: reading the clock takes 256 ns, and delays a timer that is due meanwhile
# a program that wakes as a packet is due, and reads the clock several times, delays one in thousands further
SPACED_SHARE = 0.999
MAX_PACKETS = 10_000_000  # in a row
MAX_ERROR = 0.01  # relative error of netem

# of a topology: the nodes of sender and receiver, the receiver's address, and the device of the capture
ENDS = {"router": ("h1", "h2", "10.0.2.1", "h2-r"), "loopback": ("h0", "h0", "127.0.0.1", "lo")}
NAMESPACE = "/proc/self/ns/net"
IN_A_SECOND = "$(($(date +%s%N) + 1000000000))"
# START PROGRAM SENDER RECEIVER DEVICE NANOSECONDS "ADDRESS SIZE COUNT BURST INTERVAL": print the arrivals in base64
COMMANDS = """
of() { for file in /proc/[0-9]*/ns/net; do [ "$(readlink "$file")" != "$1" ] || { echo "$file"; return; }; done; }
sender=$(of "$3") receiver=$(of "$4")
nsenter --net="$receiver" "$2" capture "$5" $(($1 + $6)) >/run/arrivals &
nsenter --net="$sender" "$2" send $7 $1
wait $!
base64 --wrap=0 /run/arrivals
"""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of `sent` packets in their order: number, time sent and time captured, ns."""

    sent: int
    number: Integers
    sent_ns: Integers
    captured_ns: Integers

    @property
    def delay_ns(self) -> Integers:
        """One-way delay of each arrival, ns."""
        return self.captured_ns - self.sent_ns

    def lost(self) -> float:
        """Share of the packets that did not arrive."""
        return 1 - np.unique(self.number).size / self.sent

    def duplicated(self) -> float:
        """Share of the packets that arrived more than once."""
        return float((np.bincount(self.number, minlength=self.sent) > 1).mean())

    def overtaking(self, delay_ns: float) -> float:
        """Share of the arrivals that skipped the delay: netem's reordering."""
        return float((self.delay_ns < delay_ns / 2).mean())


@functools.cache
def compiled_probe() -> FilePath:
    """Compile the probe into build/ and return its path."""
    program = BUILD / "probe"
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        new = FilePath(folder) / program.name
        source = FilePath(__file__).with_name("probe.c")
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-static", "-o", new, source], check=True)
        new.replace(program)
    return program


def probe_command(
    lab: Lab,
    topology: str,
    count: int,
    *,
    size_bytes: int = IP_BYTES,
    burst: int = 1,
    interval_ns: int = 100_000,
    wait_s: float = 2.0,
    start: str = IN_A_SECOND,
) -> str:
    """Return the shell command that sends `count` packets over the lab's network and prints arrivals_of().

    It sends `burst` at a time every interval_ns, and waits for wait_s after the last. start: when it sends the first,
    ns of CLOCK_REALTIME, in the shell's language.
    """
    sender, receiver, address, device = ENDS[topology]
    namespaces = [lab.call("execute", node=node, argv=["readlink", NAMESPACE]).strip() for node in (sender, receiver)]
    lasts_ns = (-(-count // burst) - 1) * interval_ns + round(wait_s * 1e9)
    send = f"{address} {size_bytes} {count} {burst} {interval_ns}"
    parameters = shlex.join([str(compiled_probe()), *namespaces, device, str(lasts_ns), send])
    return f"set -eu -- {start} {parameters}{COMMANDS}"


def arrivals_of(count: int, printed: str) -> Arrivals:
    """Return the arrivals of `count` packets that the probe's command has printed."""
    rows = np.frombuffer(base64.b64decode(printed), np.int64).reshape(-1, 3)
    return Arrivals(count, rows[:, 0], rows[:, 1], rows[:, 2])


def probe(lab: Lab, path: Path, count: int, **pattern: Any) -> Arrivals:
    """Send packets over a path that does not change. pattern: of probe_command()."""
    # a run applies the path; its flow would begin after the end
    lab.run(path, [{"scheme": "reno", "start_s": 1.0, "duration_s": 1.0}], 0.1)
    done = lab.call("shell", command=probe_command(lab, path.topology, count, **pattern))
    if done["status"]:
        raise LabError(f"the probe failed: {done['stderr']}")
    return arrivals_of(count, done["stdout"])


# -- netem -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A row about netem. sampling: relative error that chance can cause (3 standard deviations)."""

    topology: str
    name: str
    unit: str
    configured: float
    measured: float
    sampling: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.measured / self.configured - 1

    @property
    def accurate(self) -> bool:
        """Whether the error is at most MAX_ERROR plus the sampling error."""
        return abs(self.error) <= MAX_ERROR + self.sampling


def impaired(topology: str, *, delay_ms: float = 20.0, **impairments: float) -> Path:
    """Return a path with netem's impairments, keywords as for Path, and a rate too high to matter."""
    path = Path.from_dict({"rate_mbps": 10_000.0, "rtt_ms": 2 * delay_ms, "buffer_bdp": 10.0} | impairments)
    if topology == "router":
        return path
    netem = f"tc qdisc add dev lo root netem {netem_options(path, delay_ms)}"
    return Path(topology="loopback", tc=(netem,))


def sample_size(pct: float) -> int:
    """Return the number of packets for which three standard deviations are 1 % of the share pct."""
    share = pct / 100
    return math.ceil(9 * (1 - share) / share / MAX_ERROR**2)


def measure_share(lab: Lab, topology: str, kind: str, pct: float, packets: int) -> Row:
    """Measure a share of packets, a million at a time; kind: loss, duplicate or reorder."""
    delay_ms = 20.0
    path = impaired(topology, delay_ms=delay_ms, **{f"{kind}_pct": pct})
    affected = 0.0
    for first in range(0, packets, PACKETS):
        count = min(PACKETS, packets - first)
        # small packets in bursts, because netem draws for each packet
        arrivals = probe(lab, path, count, size_bytes=64, burst=50, interval_ns=1_000_000)
        shares = {"loss": arrivals.lost, "duplicate": arrivals.duplicated}
        affected += count * (arrivals.overtaking(delay_ms * 1e6) if kind == "reorder" else shares[kind]())
    share = pct / 100
    sampling = 3 * math.sqrt((1 - share) / (share * packets))
    return Row(topology, f"{kind} {pct:g} %", "%", pct, 100 * affected / packets, sampling)


def measure_delay(lab: Lab, topology: str, delay_ms: float, jitter_ms: float, packets: int) -> list[Row]:
    """Measure the mean delay and, with jitter, its standard deviation."""
    path = impaired(topology, delay_ms=delay_ms, jitter_ms=jitter_ms)
    burst = 10 if jitter_ms else 1  # without jitter, packets of a burst would wait for each other
    delay_ns = probe(lab, path, packets, size_bytes=64, burst=burst, interval_ns=500_000).delay_ns
    name = f"delay {delay_ms:g} ms" + (f" jitter {jitter_ms:g} ms" if jitter_ms else "")
    sampling = 3 * jitter_ms / delay_ms / math.sqrt(packets)
    rows = [Row(topology, name, "ms", delay_ms, float(delay_ns.mean()) / 1e6, sampling)]
    if jitter_ms:
        sampling = 3 / math.sqrt(2 * packets)
        rows.append(Row(topology, f"{name}: deviation", "ms", jitter_ms, float(delay_ns.std()) / 1e6, sampling))
    return rows


def measure_rate(lab: Lab, topology: str, rate_mbps: float, packets: int) -> Row:
    """Measure the rate at which packets leave an overloaded link."""
    path = Path(rate_mbps=rate_mbps, rtt_ms=10, buffer_bdp=1)
    if topology == "loopback":
        # the rate option of netem
        netem = f"tc qdisc add dev lo root netem limit 20000 delay 5ms rate {rate_mbps * 1e6:.0f}bit"
        path = Path(topology="loopback", tc=(netem,))
    arrivals = overload(lab, path, rate_mbps, packets)
    span_ns = float(arrivals.captured_ns[-1] - arrivals.captured_ns[0])
    measured = (arrivals.number.size - 1) * PACKET_BYTES * 8 / span_ns * 1e3
    return Row(topology, f"rate {rate_mbps:g} Mbit/s", "Mbit/s", rate_mbps, measured, 0.0)


# -- bottleneck ------------------------------------------------------------------------------------------------------


def overload(lab: Lab, path: Path, rate_mbps: float, packets: int) -> Arrivals:
    """Send twice as many packets as the link can carry, one at a time."""
    return probe(lab, path, packets, interval_ns=round(transmission_ns(rate_mbps) / 2), wait_s=20)


def transmission_ns(rate_mbps: float) -> float:
    """Return the transmission time of a full packet, ns."""
    return PACKET_BYTES * 8 / rate_mbps * 1e3


@dataclass(frozen=True)
class Bottleneck:
    """Measurements of a bottleneck.

    held_packets: largest number of waiting packets. spacing_error_ns: largest difference between the spacing of two
    packets and the transmission time, but for a share 1 - SPACED_SHARE of the packets. lost: packets that did not
    arrive. dropped: packets that the buffer counted as dropped.
    """

    rate_mbps: float
    buffer_packets: int
    held_packets: int
    spacing_error_ns: float
    lost: int
    dropped: int

    @property
    def accurate(self) -> bool:
        """Whether the buffer has the configured size, only the buffer drops, and the spacing is that of a wire."""
        spaced = self.spacing_error_ns <= CLOCK_NS
        return self.held_packets == self.buffer_packets and self.lost == self.dropped and spaced


def measure_bottleneck(lab: Lab, rate_mbps: float, rtt_ms: float, buffer_bdp: float) -> Bottleneck:
    """Fill a bottleneck's buffer and keep it full."""
    path = Path(rate_mbps=rate_mbps, rtt_ms=rtt_ms, buffer_bdp=buffer_bdp)
    packets = 2 * path.buffer_packets + 5_000
    arrivals = overload(lab, path, rate_mbps, packets)
    departed_ns = arrivals.captured_ns
    # the link is empty for the first packet, so its delay is the delay without a queue
    entered_ns = arrivals.sent_ns + arrivals.delay_ns.min()
    waiting = np.arange(1, departed_ns.size + 1) - np.searchsorted(departed_ns, entered_ns, side="right")
    # the second packet leaves up to a microsecond early, with the tokens of the link's idle time
    errors_ns = np.abs(np.diff(departed_ns)[1:] - transmission_ns(rate_mbps))
    spacing_error_ns = float(np.quantile(errors_ns, SPACED_SHARE, method="lower"))
    lost, dropped = packets - departed_ns.size, queue_drops(lab)
    return Bottleneck(rate_mbps, path.buffer_packets, int(waiting.max()), spacing_error_ns, lost, dropped)


def queue_drops(lab: Lab) -> int:
    """Return the number of packets dropped by the router's bottleneck since the path was applied."""
    qdiscs = json.loads(lab.call("execute", node="r", argv=["tc", "-s", "-j", "qdisc", "show", "dev", "r-h2"]))
    return sum(qdisc["drops"] for qdisc in qdiscs if qdisc["kind"] == "pfifo")


# -- command ---------------------------------------------------------------------------------------------------------


def measure_netem(lab: Lab, max_packets: int) -> list[Row]:
    """Return the rows of the first table. max_packets: of a row."""
    rows = []
    packets = min(max_packets, PACKETS)
    for topology in ("router", "loopback"):
        rows += measure_delay(lab, topology, 20, 0, min(packets, 10_000))
        rows += measure_delay(lab, topology, 20, 4, packets)
        for kind in ("loss", "duplicate", "reorder"):
            rows += [measure_share(lab, topology, kind, pct, min(max_packets, sample_size(pct))) for pct in (1, 10, 50)]
        rows += [measure_rate(lab, topology, rate_mbps, min(packets, 20_000)) for rate_mbps in (1, 20, 1000, 10_000)]
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables as Markdown; return 1 if a value differs from the configured one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--packets",
        type=int,
        default=MAX_PACKETS,
        help="maximum number in a row (default %(default)s); less is faster and less accurate",
    )
    arguments = parser.parse_args(argv)
    if not 10_000 <= arguments.packets <= MAX_PACKETS:
        parser.error(f"--packets is {arguments.packets}; it must lie between 10000 and {MAX_PACKETS}")
    with VirtualLab(seed=1, memory_mb=1024, timeout_s=600) as lab:
        rows = measure_netem(lab, arguments.packets)
        texts = [
            [
                row.topology,
                row.name,
                f"{row.measured:.6g} {row.unit}",
                f"{100 * row.error:+.3f} %",
                f"{100 * row.sampling:.3f} %",
            ]
            for row in rows
        ]
        print(markdown_table(["topology", "configured", "measured", "error", "chance (3 sigma)"], texts), end="\n\n")
        bottlenecks = [measure_bottleneck(lab, rate, rtt, bdp) for rate, rtt in LINKS for bdp in BUFFERS_BDP]
        texts = [
            [
                f"{link.rate_mbps:g} Mbit/s",
                f"{link.buffer_packets}",
                f"{link.held_packets}",
                f"{link.lost}",
                f"{link.dropped}",
                f"{link.spacing_error_ns:.1f} ns of {transmission_ns(link.rate_mbps):.0f} ns",
            ]
            for link in bottlenecks
        ]
        heads = ["bottleneck", "buffer", "largest queue", "packets lost", "dropped by the buffer", "spacing error"]
        print(markdown_table(heads, texts))
    inaccurate = [row.name for row in rows if not row.accurate]
    inaccurate += [
        f"{link.rate_mbps:g} Mbit/s, buffer of {link.buffer_packets}" for link in bottlenecks if not link.accurate
    ]
    if inaccurate:
        print(f"error: not as configured: {', '.join(inaccurate)}", file=sys.stderr)
    return bool(inaccurate)


if __name__ == "__main__":
    sys.exit(main())
