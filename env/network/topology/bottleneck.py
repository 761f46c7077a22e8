"""Makes the commands of a router path, and of a chain's links. Runs in the guest; on the host, tests read them.

Toward the receiver a packet passes the policer and netem (half the base RTT, loss, jitter). Then it waits in the
bottleneck's queue, which is a child of htb or the link of a trace. A real path has the same order: impairments on the
way, then one queue with an explicit limit. With netem as htb's leaf the delay line would count as buffer, and two
devices would need another hop. Toward each sender a packet passes netem (the other half of the RTT, and the sender's
extra RTT) and, if the return path has a rate, a queue of its own.
"""

from __future__ import annotations

import math

from env.network.clock import VIRTUAL
from env.network.path import PACKET_BYTES, Path
from env.network.topology.links import NETEM_LIMIT, Command
from env.network.topology.shaper import Shaper

# the time between two bursts of ACKs is uniform within this share of ack_burst_ms
BURST_SPREAD = 0.6
ACK_BYTES = 1024  # of memory, as cake counts it
# netem with a rate does not reorder; at this rate a packet takes 0.1 us
IN_ORDER = "rate 100gbit"
# CoDel that never drops by delay: no packet waits this long
NO_TARGET = "target 100s interval 100s"


def netem_options(path: Path, delay_ms: float) -> str:
    """Return netem's arguments toward the receiver."""
    options = f"limit {NETEM_LIMIT} delay {delay_ms:.3f}ms"
    if path.jitter_ms:
        options += f" {path.jitter_ms:.3f}ms distribution normal"
    if path.loss_burst_packets > 1:
        enter_pct, leave_pct = gilbert_pct(path.loss_pct, path.loss_burst_packets)
        options += f" loss gemodel {enter_pct:.6g}% {leave_pct:.6g}%"
    elif path.loss_pct:
        options += f" loss {path.loss_pct:g}%"
    if path.duplicate_pct:
        options += f" duplicate {path.duplicate_pct:g}%"
    if path.reorder_pct:
        options += f" reorder {path.reorder_pct:g}%"
        if path.reorder_correlation_pct:
            options += f" {path.reorder_correlation_pct:g}%"
        if path.reorder_gap > 1:
            options += f" gap {path.reorder_gap}"
    if not path.jitter_reorders or path.delay_trace:
        options += f" {IN_ORDER}"
    return options


def gilbert_pct(loss_pct: float, burst_packets: float) -> tuple[float, float]:
    """Return the probabilities per packet, in %, of entering and of leaving the state in which all packets are lost.

    Gilbert's model: bursts have 1 / leave packets on average, and enter / (enter + leave) of all packets are lost.
    """
    leave = 1 / burst_packets
    loss = loss_pct / 100
    return 100 * leave * loss / (1 - loss), 100 * leave


def queue_options(path: Path) -> str:
    """Return kind and arguments of the bottleneck's queue."""
    packets = path.buffer_packets
    if path.qdisc == "red":
        limit = packets * PACKET_BYTES
        minimum, maximum = max(limit // 12, PACKET_BYTES), max(limit // 4, 3 * PACKET_BYTES)
        # the smallest burst that tc-red(8) recommends
        burst = math.ceil((2 * minimum + maximum) / (3 * PACKET_BYTES))
        return (
            f"red limit {limit} min {minimum} max {maximum} avpkt {PACKET_BYTES} burst {burst} "
            f"bandwidth {path.rate_mbps:g}mbit probability 0.1{' ecn' if path.ecn else ''}"
        )
    if path.qdisc == "step":
        return f"codel limit {packets} {NO_TARGET} ce_threshold {path.mark_ms:g}ms ecn"
    if path.qdisc == "cake":
        return f"cake unlimited besteffort memlimit {packets * PACKET_BYTES}"
    return f"{path.qdisc} limit {packets}"


def shaper(device: str, rate_mbps: float, burst_us: float) -> Shaper:
    """Return the class of a link's htb, 2:. burst_us: the burst as time at this rate (env/network/clock.py)."""
    # a burst of a full packet would let two packets leave at once after a pause
    return Shaper(device, 2, round(rate_mbps * 1e6), int(rate_mbps * burst_us / 8) + 1, PACKET_BYTES)


def toward_receiver_commands(
    path: Path, device: str, burst_us: float = VIRTUAL.burst_us, delay_ms: float | None = None
) -> list[Command]:
    """Return the commands for the router's device toward the receiver. delay_ms: the one-way delay, instead of the
    path's."""
    one_way_ms = path.first_delay_ms if delay_ms is None else delay_ms
    commands: list[Command] = [f"qdisc add dev {device} root handle 1: netem {netem_options(path, one_way_ms)}"]
    if path.trace:
        # Topology writes the trace and the queue's limit to the module's file just before
        commands += [f"qdisc add dev {device} parent 1: handle 2: linktrace"]
    else:
        commands += [
            f"qdisc add dev {device} parent 1: handle 2: htb default 1",
            shaper(device, path.rate_mbps, burst_us),
            f"qdisc add dev {device} parent 2:1 handle 3: {queue_options(path)}",
        ]
    if path.police_mbps:
        burst = round(path.police_burst_kb * 1000)
        police = f"police rate {path.police_mbps * 1e6:.0f}bit burst {burst} conform-exceed drop/ok"
        commands += [
            f"qdisc add dev {device} clsact",
            f"filter add dev {device} egress matchall action {police}",
        ]
    return commands


def toward_sender_commands(
    path: Path, device: str, extra_rtt_ms: float, burst_us: float = VIRTUAL.burst_us
) -> list[Command]:
    """Return the commands for the router's device toward a sender."""
    commands: list[Command] = [
        f"qdisc add dev {device} root handle 1: netem {_return_options(path, path.first_delay_ms + extra_rtt_ms)}"
    ]
    if path.ack_rate_mbps:
        commands += [
            f"qdisc add dev {device} parent 1: handle 2: htb default 1",
            shaper(device, path.ack_rate_mbps, burst_us),
            f"qdisc add dev {device} parent 2:1 handle 3: {_return_queue_options(path)}",
        ]
    return commands


def step_commands(
    before: Path, after: Path, toward_receiver: str, toward_senders: list[str], burst_us: float = VIRTUAL.burst_us
) -> list[Command]:
    """Return the commands that change one path into another during a run."""
    commands: list[Command] = []
    if (before.rtt_ms, before.loss_pct) != (after.rtt_ms, after.loss_pct):
        options = netem_options(after, after.rtt_ms / 2)
        commands += [f"qdisc change dev {toward_receiver} root handle 1: netem {options}"]
    if before.rtt_ms != after.rtt_ms:
        extras = after.client_extra_rtt_ms or (0.0,)
        commands += [
            f"qdisc change dev {device} root handle 1: netem {_return_options(after, after.rtt_ms / 2 + extra_ms)}"
            for device, extra_ms in zip(toward_senders, extras, strict=True)
        ]
    if before.rate_mbps != after.rate_mbps:
        commands += [shaper(toward_receiver, after.rate_mbps, burst_us)]
    return commands


def delay_commands(path: Path, delay_ms: float, toward_receiver: str, toward_senders: list[str]) -> list[str]:
    """Return the tc commands that change the one-way delay of a path with a delay trace during a run."""
    extras = path.client_extra_rtt_ms or (0.0,)
    return [
        f"qdisc change dev {toward_receiver} root handle 1: netem {netem_options(path, delay_ms)}",
        *(
            f"qdisc change dev {device} root handle 1: netem {_return_options(path, delay_ms + extra_ms)}"
            for device, extra_ms in zip(toward_senders, extras, strict=True)
        ),
    ]


def _return_options(path: Path, delay_ms: float) -> str:
    options = f"limit {NETEM_LIMIT} delay {delay_ms:.3f}ms"
    if path.ack_burst_ms:
        least_ms, most_ms = (path.ack_burst_ms * (1 + spread) for spread in (-BURST_SPREAD, BURST_SPREAD))
        options += f" slot {least_ms:.3f}ms {most_ms:.3f}ms"
    if path.delay_trace:
        options += f" {IN_ORDER}"
    return options


def _return_queue_options(path: Path) -> str:
    if path.ack_filter:
        return f"cake unlimited besteffort ack-filter memlimit {path.ack_buffer_packets * ACK_BYTES}"
    return f"pfifo limit {path.ack_buffer_packets}"
