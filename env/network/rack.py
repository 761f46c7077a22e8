"""A rack: clients and servers around one switch, as in section 4 of the TCP-NV paper.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from env.network.checks import check_fields, check_number
from env.network.path import PACKET_BYTES

# A frame's overhead on the wire: preamble 8, checksum 4, gap 12 bytes.
WIRE_BYTES = 24
SEGMENT_BYTES = 1448  # of a full frame, with TCP time stamps
HEADER_BYTES = PACKET_BYTES - SEGMENT_BYTES
MAX_HOSTS = 32


@dataclass(frozen=True)
class Rack:
    """Clients and servers, each linked to the same switch; docs/reference/file-formats.md explains the fields.

    Raises UserError for values that are not valid.
    """

    clients: int = 1
    servers: int = 1
    rate_mbps: float = 10_000.0
    rtt_us: float = 25.0
    buffer_kb: float = 1500.0
    gso_max_bytes: int = 65536
    host_queue_kb: float = 256.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("clients", 1, MAX_HOSTS),
            ("servers", 1, MAX_HOSTS),
            ("rate_mbps", 1.0, 100_000.0),
            ("rtt_us", 1.0, 1e6),
            ("buffer_kb", 10.0, 1e6),
            ("gso_max_bytes", 1500, 65536),
            ("host_queue_kb", 4.0, 1e6),
        ):
            check_number(name, getattr(self, name), low, high, whole=name in ("clients", "servers", "gso_max_bytes"))

    @property
    def topology(self) -> str:
        """The name of the network that the guest builds: each size of rack is a network of its own."""
        return f"rack-{self.clients}c{self.servers}s"

    @property
    def frame_mbps(self) -> float:
        """Rate of a link as the qdiscs count it, in bytes of full frames, Mbit/s."""
        return self.rate_mbps * PACKET_BYTES / (PACKET_BYTES + WIRE_BYTES)

    @property
    def packet_bytes(self) -> int:
        """Largest packet as the qdiscs count it, bytes: with a header for each frame that a NIC would cut it into."""
        return self.gso_max_bytes + HEADER_BYTES * math.ceil(self.gso_max_bytes / SEGMENT_BYTES)

    @property
    def trace_files(self) -> tuple[str, ...]:
        """The trace files that the rack needs: none."""
        return ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a COMMAND frame."""
        return {"topology": self.topology, **asdict(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Rack:
        """Return the rack of as_dict(). Raises UserError, which lists the fields, for an unknown key."""
        values = {key: value for key, value in data.items() if key != "topology"}
        check_fields(cls, "rack", values)
        return cls(**values)
