"""Sets the links of a node, calls sysctl in it, and makes the commands of a rack's links. Runs in the guest.

Mininet's TCIntf logs and ignores values that it does not accept. So all commands here go through `tc -batch` in the
node, rates by netlink, and a command that fails is an error.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
from typing import TYPE_CHECKING, cast

from env.network.path import PACKET_BYTES
from env.network.rack import Rack
from env.network.topology.shaper import Shaper, ShaperSocket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mininet.node import Node

# The values of a stock machine with 8 GB; the kernel would derive smaller ones from a lab's memory.
STOCK_BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_wmem": "4096 16384 4194304"}
# A router path tests the network, not the receiver: 200 Mbit/s at 300 ms and a buffer of 8 BDP is 68 MB.
WIDE_BUFFERS = {"net.ipv4.tcp_rmem": "4096 4194304 268435456", "net.ipv4.tcp_wmem": "4096 4194304 268435456"}
# A connection does not use the stored metrics of earlier ones.
INDEPENDENT_RUNS = {"net.ipv4.tcp_no_metrics_save": "1"}
# sysctls that affect every run
RUN_SYSCTLS = (
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_timestamps",
    "net.core.default_qdisc",
)

MAX_LINES = 4096  # of one tc process, which never frees the 4 KB of a line (iproute2 6.1); a training sends 100,000

NETEM_LIMIT = 1_000_000  # packets: the delay line never drops

_FAILED = "Command failed -:"  # of tc for a line of its standard input; the line's number follows
_NO_COMMAND = "done"
_CHOSEN_HANDLE = re.compile(r"\b[89a-f][0-9a-f]{3}:")  # 8000: and above


Command = str | Shaper
"""A command of tc, without the word tc, or a rate."""


class LinkError(RuntimeError):
    """The kernel refused a tc or sysctl command."""


def in_node(node: Node, argv: list[str], stdin: str = "") -> str:
    """Run argv in the node's namespaces and return what it printed; raises LinkError when it fails."""
    process = node.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output: str = process.communicate(stdin.encode())[0].decode(errors="replace")
    if process.returncode:
        raise LinkError(f"{node.name}: {' '.join(argv)} failed ({process.returncode}):\n{stdin}{output}")
    return output


def namespace(node: Node) -> str:
    """Return the path of the node's network namespace."""
    return f"/proc/{node.pid}/ns/net"


class Tc:
    """Traffic control of a node: a tc process and a netlink socket.

    The process stays in the node, because starting one costs the lab as much as hundreds of its commands.

    After the commands tc gets a word that is not a command. Its error message for this line shows that all previous
    lines have been carried out.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._shapers = ShaperSocket(namespace(node))
        self._start()

    def _start(self) -> None:
        # -force: tc continues after a line that fails
        argv = ["tc", "-force", "-batch", "-"]
        self._process = self._node.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._lines = 0

    def renew(self, max_lines: int = MAX_LINES) -> None:
        """Replace a process that has had more lines. A new process draws randomness: call it before a run is seeded, or
        at the same times in every run."""
        if self._lines > max_lines:
            self._process.communicate()  # the end of its input ends it
            self._start()

    def __call__(self, commands: Sequence[Command]) -> None:
        """Carry out commands in their order; raises LinkError when any of them fails."""
        for is_shaper, group in itertools.groupby(commands, lambda command: isinstance(command, Shaper)):
            if is_shaper:
                for shaper in group:
                    self._shape(cast(Shaper, shaper))
            else:
                self._batch(cast("list[str]", list(group)))

    def _shape(self, shaper: Shaper) -> None:
        try:
            self._shapers.set(shaper)
        except OSError as error:
            raise LinkError(f"{self._node.name}: {shaper}: {error}") from error

    def _batch(self, commands: list[str]) -> None:
        self._lines += len(commands) + 1
        end = f"{_FAILED}{self._lines}\n".encode()
        output = bytearray()
        with contextlib.suppress(BrokenPipeError):  # tc has ended; its message is read below
            # without the locks of a buffer, which read the clock
            os.write(self._process.stdin.fileno(), "".join(f"{line}\n" for line in [*commands, _NO_COMMAND]).encode())
        while not output.endswith(end) and (data := os.read(self._process.stdout.fileno(), 1 << 16)):
            output += data
        messages = output.decode(errors="replace").splitlines()
        if output.endswith(end):
            del messages[-2:]  # about the word that is not a command
            if not any(line.startswith(_FAILED) for line in messages):
                return
        else:  # some errors end tc
            self._process.communicate()
            messages.append(f"tc ended with {self._process.returncode}")  # -9: the lab has no memory left
            self._start()
        raise LinkError("\n".join([f"{self._node.name}: tc failed:", *commands, *messages]))


def qdiscs(node: Node, device: str = "") -> str:
    """Return the qdiscs of a device, or of all devices, with their counters, as tc shows them; raises LinkError.

    The kernel does not restart its numbering of handles with each run, so handles that it chose are renumbered from
    8001: on.
    """
    shown = in_node(node, ["tc", "-s", "qdisc", "show", *(["dev", device] if device else [])])
    handles = dict.fromkeys(_CHOSEN_HANDLE.findall(shown))
    numbered = {handle: f"{number:x}:" for number, handle in enumerate(handles, 0x8001)}
    return _CHOSEN_HANDLE.sub(lambda match: numbered[match[0]], shown)


def sysctl(node: Node, values: dict[str, str]) -> None:
    """Set sysctls in the node; raises LinkError."""
    in_node(node, ["sysctl", "-qw", *(f"{name}={value}" for name, value in values.items())])


def sysctls(node: Node, *names: str) -> dict[str, str]:
    """Return the node's sysctls in RUN_SYSCTLS, and further ones by name; raises LinkError."""
    shown = in_node(node, ["sysctl", "-e", *RUN_SYSCTLS, *names])
    return dict(line.split(" = ", 1) for line in shown.splitlines() if " = " in line)


def host_commands(rack: Rack, device: str) -> list[Command]:
    """Return the commands for a client's NIC: the rate of its link, and a queue that never drops.

    htb sends a packet when the previous one has been transmitted, so packets leave when their transmission begins. Like
    a NIC, it keeps the packet attached to its socket until then: TCP's small queues count the packets that wait here.
    """
    return [
        f"qdisc add dev {device} root handle 1: htb default 1",
        Shaper(device, 1, round(rack.frame_mbps * 1e6), PACKET_BYTES, rack.gso_max_bytes),
        f"qdisc add dev {device} parent 1:1 handle 2: pfifo limit {NETEM_LIMIT}",
    ]


def port_commands(rack: Rack, device: str) -> list[str]:
    """Return the tc commands for a switch's port: its rate, its buffer in bytes, tail drop.

    A packet arrives with its last byte, so a packet at a free port continues at once, as its 1500-byte frames would
    have done: the token bucket is as deep as the largest packet and, for rounding, one frame.
    """
    rate = f"{rack.frame_mbps * 1e6:.0f}bit"
    limit = f"{rack.buffer_kb * 1000:.0f}"
    return [
        f"qdisc add dev {device} root handle 1: tbf rate {rate} burst {rack.packet_bytes + PACKET_BYTES} limit {limit}"
    ]


def wire_options(rack: Rack) -> str:
    """Return netem's arguments for one way through the rack: half the RTT, and the transmission time."""
    return f"netem limit {NETEM_LIMIT} delay {rack.rtt_us / 2:.3f}us rate {rack.frame_mbps * 1e6:.0f}bit"
