"""One network path: what lies between a sender and a receiver.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

PACKET_BYTES = 1514  # an Ethernet frame with 1500 bytes of IP, as the qdiscs count it
MIN_BUFFER_PACKETS = 4
TOPOLOGIES = ("router", "loopback")
QDISCS = ("pfifo", "fq_codel", "cake", "red", "fq")


class PathError(ValueError):
    """A path that cannot be built; the message names the bad value and the right ones."""


@dataclass(frozen=True)
class Path:
    """A path and its impairments; the table in docs/architecture.md explains the fields.

    Raises PathError for values that make no path.
    """

    topology: str = "router"
    rate_mbps: float = 20.0
    rtt_ms: float = 40.0
    buffer_bdp: float = 1.0
    qdisc: str = "pfifo"
    loss_pct: float = 0.0
    jitter_ms: float = 0.0
    duplicate_pct: float = 0.0
    reorder_pct: float = 0.0
    tc: tuple[str, ...] = ()
    reference_mbps: float = 0.0
    reference_rtt_ms: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tc", tuple(self.tc))
        if self.topology not in TOPOLOGIES:
            raise PathError(f"topology {self.topology!r} is unknown; it is one of {', '.join(TOPOLOGIES)}")
        for name, low, high in (
            ("rate_mbps", 0.01, 100_000.0),
            ("rtt_ms", 0.0, 20_000.0),
            ("buffer_bdp", 0.0, 1000.0),
            ("loss_pct", 0.0, 100.0),
            ("jitter_ms", 0.0, 20_000.0),
            ("duplicate_pct", 0.0, 100.0),
            ("reorder_pct", 0.0, 100.0),
            ("reference_mbps", 0.0, 100_000.0),
            ("reference_rtt_ms", 0.0, 60_000.0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise PathError(f"{name} is {value!r}; it must be a number from {low:g} to {high:g}")
            if not low <= value <= high:
                raise PathError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}")
        if self.qdisc not in QDISCS:
            raise PathError(f"qdisc {self.qdisc!r} is unknown; it is one of {', '.join(QDISCS)}")
        if self.topology == "loopback":
            self._check_loopback()
        elif self.tc:
            raise PathError("tc commands are for topology loopback; a router path is described by its numbers")
        if not self.reference_mbps:
            object.__setattr__(self, "reference_mbps", self.rate_mbps)
        if not self.reference_rtt_ms:
            object.__setattr__(self, "reference_rtt_ms", self.rtt_ms)

    def _check_loopback(self) -> None:
        if not self.tc:
            raise PathError("a loopback path needs its tc commands")
        for command in self.tc:
            if not isinstance(command, str):
                raise PathError(
                    f"{command!r} is no tc command; in YAML, put quotes around one with a colon and a space"
                )
            words = command.split()
            if words[:2] not in (["tc", "qdisc"], ["tc", "class"]) or "lo" not in words:
                raise PathError(f"{command!r} is no tc command for lo: it begins with `tc qdisc` or `tc class`")
            for word, value in pairwise(words):
                if word in ("delay", "loss", "rate", "duplicate", "reorder", "limit") and value.startswith("-"):
                    raise PathError(f"{word} {value} in {command!r} is negative")

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth-delay product at the base RTT, bytes."""
        return self.rate_mbps * 1e6 / 8 * self.rtt_ms / 1e3

    @property
    def buffer_packets(self) -> int:
        """Bottleneck buffer, full-sized packets."""
        return max(MIN_BUFFER_PACKETS, math.ceil(self.buffer_bdp * self.bdp_bytes / PACKET_BYTES))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a COMMAND frame."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Path:
        """Return the path of as_dict(); an unknown key is a PathError that lists the right ones."""
        known = [field.name for field in fields(cls)]
        for key in data:
            if key not in known:
                raise PathError(f"{key!r} is no field of a path; the fields are {', '.join(known)}")
        return cls(**data)
