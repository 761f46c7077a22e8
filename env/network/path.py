"""One network path between senders and a receiver.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

from env.errors import UserError
from env.network.checks import check_bool, check_fields, check_number
from env.network.step import Step, check_steps
from env.network.traces.delay import SUFFIXES as DELAY_SUFFIXES
from env.network.traces.delay import load_delay_trace
from env.network.traces.format import SUFFIXES, file_text, load_trace
from env.network.traces.handed_over import hand_over, packed, unpacked

__all__ = ["MIN_BUFFER_PACKETS", "PACKET_BYTES", "QDISCS", "TOPOLOGIES", "Path", "UserError"]

PACKET_BYTES = 1514  # an Ethernet frame with 1500 bytes of IP, as the qdiscs count it
IP_BYTES = 1500
MIN_BUFFER_PACKETS = 4
MAX_CLIENTS = 32
TEXTS = "texts of trace files"  # key of a pickled path
TOPOLOGIES = ("router", "loopback")
QDISCS = ("pfifo", "fq_codel", "cake", "red", "fq", "step")
# name, minimum, maximum
NUMBERS = (
    ("rate_mbps", 0.01, 100_000.0),
    ("rtt_ms", 0.0, 20_000.0),
    ("buffer_bdp", 0.0, 1000.0),
    ("mark_ms", 0.0, 10_000.0),
    ("police_mbps", 0.0, 100_000.0),
    ("police_burst_kb", 0.0, 100_000.0),
    ("loss_pct", 0.0, 100.0),
    ("loss_burst_packets", 1.0, 10_000.0),
    ("jitter_ms", 0.0, 20_000.0),
    ("duplicate_pct", 0.0, 100.0),
    ("reorder_pct", 0.0, 100.0),
    ("reorder_correlation_pct", 0.0, 100.0),
    ("ack_rate_mbps", 0.0, 100_000.0),
    ("ack_burst_ms", 0.0, 1000.0),
    ("reference_mbps", 0.0, 100_000.0),
    ("reference_rtt_ms", 0.0, 60_000.0),
)


@dataclass(frozen=True)
class Path:
    """A path and its impairments; the table in docs/reference/file-formats.md explains the fields.

    Raises UserError for values that are not valid.
    """

    topology: str = "router"
    # the bottleneck
    rate_mbps: float = 20.0
    trace: str = ""
    rtt_ms: float = 40.0
    delay_trace: str = ""
    client_extra_rtt_ms: tuple[float, ...] = ()
    buffer_bdp: float = 1.0
    qdisc: str = "pfifo"
    ecn: bool = False
    mark_ms: float = 0.0
    police_mbps: float = 0.0
    police_burst_kb: float = 0.0
    # on the way to the receiver
    loss_pct: float = 0.0
    loss_burst_packets: float = 1.0
    jitter_ms: float = 0.0
    jitter_reorders: bool = True
    duplicate_pct: float = 0.0
    reorder_pct: float = 0.0
    reorder_correlation_pct: float = 0.0
    reorder_gap: int = 1
    # on the way back
    ack_rate_mbps: float = 0.0
    ack_buffer_packets: int = 100
    ack_filter: bool = False
    ack_burst_ms: float = 0.0
    # in the middle of a run
    steps: tuple[Step, ...] = ()
    # of topology loopback
    tc: tuple[str, ...] = ()
    # what a flow can reach
    reference_mbps: float = 0.0
    reference_rtt_ms: float = 0.0

    def __post_init__(self) -> None:
        for name in ("tc", "client_extra_rtt_ms", "steps"):
            if not isinstance(getattr(self, name), list | tuple):
                raise UserError(f"{name} is {getattr(self, name)!r}; it must be a list")
        object.__setattr__(self, "tc", tuple(self.tc))
        object.__setattr__(self, "client_extra_rtt_ms", tuple(self.client_extra_rtt_ms))
        object.__setattr__(self, "steps", tuple(Step.from_value(step) for step in self.steps))
        self._check_values()
        if self.trace:
            self._set_rate_from_trace()
        if self.delay_trace:
            self._set_rtt_from_delay_trace()
        if self.topology == "loopback":
            self._check_loopback()
        else:
            self._check_router()
        if not self.reference_mbps:
            limits = [self.rate_mbps, self.police_mbps or self.rate_mbps]
            object.__setattr__(self, "reference_mbps", min(limits))
        if not self.reference_rtt_ms:
            object.__setattr__(self, "reference_rtt_ms", self.rtt_ms)

    def _check_values(self) -> None:
        if self.topology not in TOPOLOGIES:
            raise UserError(f"topology {self.topology!r} is unknown; it is one of {', '.join(TOPOLOGIES)}")
        for name, low, high in NUMBERS:
            check_number(name, getattr(self, name), low, high)
        check_number("reorder_gap", self.reorder_gap, 1, 10_000, whole=True)
        check_number("ack_buffer_packets", self.ack_buffer_packets, 1, 1_000_000, whole=True)
        for extra_ms in self.client_extra_rtt_ms:
            check_number("client_extra_rtt_ms", extra_ms, 0.0, 20_000.0)
        if len(self.client_extra_rtt_ms) > MAX_CLIENTS:
            raise UserError(
                f"client_extra_rtt_ms has {len(self.client_extra_rtt_ms)} clients; at most {MAX_CLIENTS} are possible"
            )
        check_bool("ecn", self.ecn)
        check_bool("ack_filter", self.ack_filter)
        check_bool("jitter_reorders", self.jitter_reorders)
        check_steps(self.steps)
        if self.qdisc not in QDISCS:
            raise UserError(f"qdisc {self.qdisc!r} is unknown; it is one of {', '.join(QDISCS)}")

    def _set_rate_from_trace(self) -> None:
        """Set rate_mbps to the trace's mean rate, and make a file's path absolute: the guest uses it too."""
        self._set_absolute("trace", SUFFIXES)
        trace = load_trace(self.trace)
        rate_mbps = trace.mean_mbps * PACKET_BYTES / IP_BYTES
        if self.rate_mbps not in (Path.rate_mbps, rate_mbps):
            raise UserError(
                f"rate_mbps is {self.rate_mbps:g}, but trace {self.trace} sets the rate; leave one of them out"
            )
        object.__setattr__(self, "rate_mbps", rate_mbps)

    def _set_rtt_from_delay_trace(self) -> None:
        """Set rtt_ms to the mean RTT of the delay trace, and make a file's path absolute."""
        self._set_absolute("delay_trace", DELAY_SUFFIXES)
        rtt_ms = 2 * load_delay_trace(self.delay_trace).mean_ms
        if self.rtt_ms not in (Path.rtt_ms, rtt_ms):
            raise UserError(
                f"rtt_ms is {self.rtt_ms:g}, but delay_trace {self.delay_trace} sets the delay; leave one of them out"
            )
        object.__setattr__(self, "rtt_ms", rtt_ms)

    def _set_absolute(self, field: str, suffixes: tuple[str, ...]) -> None:
        name = getattr(self, field)
        if not isinstance(name, str):
            raise UserError(f"{field} is {name!r}; it must be the name of a trace or the path of a file")
        if name.endswith(suffixes):
            object.__setattr__(self, field, str(FilePath(name).absolute()))

    def _check_router(self) -> None:
        if self.tc:
            raise UserError("tc commands are for topology loopback; a router path is described by its numbers")
        if self.trace and self.qdisc != "pfifo":
            raise UserError(f"qdisc is {self.qdisc}; the queue in front of a trace is pfifo")
        if self.trace and any(step.rate_mbps is not None for step in self.steps):
            raise UserError("a step changes rate_mbps, but the path has a trace, which sets the rate")
        if self.delay_trace and any(step.rtt_ms is not None or step.loss_pct is not None for step in self.steps):
            raise UserError(
                "a step changes rtt_ms or loss_pct, but the path has a delay_trace; steps of rate_mbps remain"
            )
        if (self.qdisc == "step") != bool(self.mark_ms):
            raise UserError(
                f"mark_ms is {self.mark_ms:g} with qdisc {self.qdisc}; qdisc step needs it above 0, others take none"
            )
        if self.ecn and self.qdisc not in ("fq_codel", "cake", "red", "step"):
            raise UserError(f"ecn is true, but qdisc {self.qdisc} marks nothing; fq_codel, cake, red and step do")
        if self.qdisc == "step" and not self.ecn:
            raise UserError("qdisc step only marks packets; it needs ecn: true")
        if bool(self.police_mbps) != bool(self.police_burst_kb):
            raise UserError(
                f"police_mbps is {self.police_mbps:g}, police_burst_kb {self.police_burst_kb:g}; a policer needs both"
            )
        if self.loss_burst_packets > 1 and not 0 < self.loss_pct <= 50:
            raise UserError(
                f"loss_pct is {self.loss_pct:g}; with loss_burst_packets it must lie above 0 and not above 50"
            )
        if self.ack_filter and not self.ack_rate_mbps:
            raise UserError("ack_filter is true, but ack_rate_mbps is 0; the filter is in the queue of the return path")
        if not self.jitter_reorders and not self.jitter_ms:
            raise UserError("jitter_reorders is false, but jitter_ms is 0; it must be above 0")
        if not self.reorder_pct and (self.reorder_correlation_pct or self.reorder_gap > 1):
            raise UserError("reorder_correlation_pct and reorder_gap need reorder_pct above 0")

    def _check_loopback(self) -> None:
        fields = Path.__dataclass_fields__
        for name in fields:
            allowed = ("topology", "rate_mbps", "rtt_ms", "tc", "reference_mbps", "reference_rtt_ms")
            if name not in allowed and getattr(self, name) != fields[name].default:
                raise UserError(f"{name} is for topology router; a loopback path is described by its tc commands")
        if not self.tc:
            raise UserError("tc is empty; a loopback path needs its tc commands")
        for command in self.tc:
            if not isinstance(command, str):
                raise UserError(f"{command!r} is not a tc command; in YAML, quote a command with a colon and a space")
            if not command.isprintable() or "\\" in command:
                raise UserError(f"{command!r} is not a tc command of one line")
            words = command.split()
            if words[:2] not in (["tc", "qdisc"], ["tc", "class"]) or "lo" not in words:
                raise UserError(f"{command!r} is not a tc command for lo, which begins with `tc qdisc` or `tc class`")
            for word, value in pairwise(words):
                if word in ("delay", "loss", "rate", "duplicate", "reorder", "limit") and value.startswith("-"):
                    raise UserError(f"{word} {value} in {command!r} is negative")

    @property
    def clients(self) -> int:
        """The number of sending hosts."""
        return max(1, len(self.client_extra_rtt_ms))

    @property
    def network(self) -> str:
        """The name of the network that the guest builds: each number of clients is a network of its own."""
        return self.topology if self.clients == 1 else f"{self.topology}-{self.clients}c"

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth-delay product at the base RTT, bytes."""
        return self.rate_mbps * 1e6 / 8 * self.rtt_ms / 1e3

    @property
    def buffer_packets(self) -> int:
        """Bottleneck buffer, full-sized packets."""
        return max(MIN_BUFFER_PACKETS, math.ceil(self.buffer_bdp * self.bdp_bytes / PACKET_BYTES))

    @property
    def trace_files(self) -> tuple[str, ...]:
        """The absolute paths of the trace files that the path needs; traces of the project are not among them."""
        return tuple(name for name in (self.trace, self.delay_trace) if name.endswith((*SUFFIXES, *DELAY_SUFFIXES)))

    @property
    def first_delay_ms(self) -> float:
        """One-way delay in each direction when a run begins, without a client's extra RTT, ms."""
        return load_delay_trace(self.delay_trace).delays_ms[0] if self.delay_trace else self.rtt_ms / 2

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle, with the text of trace files: another machine may lack them."""
        return self.__dict__ | {TEXTS: {name: packed(file_text(name)) for name in self.trace_files}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, and hand its trace files over to this process."""
        for name, data in state[TEXTS].items():
            hand_over(name, unpacked(data))
        self.__dict__.update({key: value for key, value in state.items() if key != TEXTS})

    def after(self, step: Step) -> Path:
        """Return the path from a step on."""
        values: dict[str, Any] = step.changes()
        return replace(self, steps=(), **values)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a COMMAND frame."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Path:
        """Return the path of as_dict(). Raises UserError, which lists the fields, for an unknown key."""
        check_fields(cls, "path", data)
        return cls(**data)
