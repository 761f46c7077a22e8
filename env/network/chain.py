"""A chain: several links in a row, with flows that enter and leave at any of its routers, as in a parking lot.

    h1   h2   h3   h4
    |    |    |    |
    r1 - r2 - r3 - r4    a link from r1 to r2, one from r2 to r3, one from r3 to r4

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from env.errors import UserError, in_context
from env.network.checks import check_fields, check_number
from env.network.path import PACKET_BYTES, Path

MAX_LINKS = 8
QDISCS = ("pfifo", "fq_codel", "cake", "red", "fq")


@dataclass(frozen=True)
class ChainLink:
    """A link of a chain; docs/reference/file-formats.md explains the fields.

    Raises UserError for values that are not valid.
    """

    rate_mbps: float = 20.0
    delay_ms: float = 10.0
    buffer_bdp: float = 1.0
    qdisc: str = "pfifo"
    loss_pct: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("rate_mbps", 0.01, 100_000.0),
            ("delay_ms", 0.0, 1000.0),
            ("buffer_bdp", 0.0, 1000.0),
            ("loss_pct", 0.0, 100.0),
        ):
            check_number(name, getattr(self, name), low, high)
        if self.qdisc not in QDISCS:
            raise UserError(f"qdisc {self.qdisc!r} is unknown; it is one of {', '.join(QDISCS)}")


@dataclass(frozen=True)
class Chain:
    """Links in a row. Data goes towards routers with higher numbers, and only ACKs come back.

    links: those of mappings, or ChainLinks. Raises UserError for values that are not valid.
    """

    links: tuple[ChainLink, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.links, list | tuple) or not 1 <= len(self.links) <= MAX_LINKS:
            raise UserError(f"links is {self.links!r}; it must be a list of 1 to {MAX_LINKS} links")
        object.__setattr__(self, "links", tuple(_link(i, link) for i, link in enumerate(self.links, 1)))

    @property
    def routers(self) -> int:
        """The number of routers; each has a host."""
        return len(self.links) + 1

    @property
    def topology(self) -> str:
        """The name of the network that the guest builds: each number of links is a network of its own."""
        return f"chain-{len(self.links)}"

    @property
    def rtt_ms(self) -> float:
        """Base RTT over all links, ms."""
        return 2 * sum(link.delay_ms for link in self.links)

    @property
    def trace_files(self) -> tuple[str, ...]:
        """The trace files that the chain needs: none."""
        return ()

    def route(self, client: int, server: int) -> range:
        """Return the indices, from 0, of the links between the routers of two hosts, which count from 1."""
        return range(client - 1, server - 1)

    def base_rtt_ms(self, client: int, server: int) -> float:
        """Return the RTT of a full packet between two hosts when no queue exists, ms.

        It includes the packet's transmission time on each link.
        """
        links = [self.links[i] for i in self.route(client, server)]
        return sum(2 * link.delay_ms + PACKET_BYTES * 8 / link.rate_mbps / 1e3 for link in links)

    def link_path(self, index: int) -> Path:
        """Return a link as a path with the chain's RTT, from which the size of its buffer follows."""
        link = self.links[index]
        return Path(
            rate_mbps=link.rate_mbps,
            rtt_ms=self.rtt_ms,
            buffer_bdp=link.buffer_bdp,
            qdisc=link.qdisc,
            loss_pct=link.loss_pct,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a COMMAND frame."""
        return {"topology": self.topology, **asdict(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Chain:
        """Return the chain of as_dict(). Raises UserError, which lists the fields, for an unknown key."""
        values = {key: value for key, value in data.items() if key != "topology"}
        check_fields(cls, "chain", values)
        return cls(**values)


def _link(number: int, value: Any) -> ChainLink:
    """Return the link of a mapping. Raises UserError, which begins with the link's number."""
    if isinstance(value, ChainLink):
        return value
    if not isinstance(value, dict):
        raise UserError(f"link {number}: {value!r} is not a link, such as {{rate_mbps: 20, delay_ms: 10}}")
    with in_context(f"link {number}"):
        check_fields(ChainLink, "link", value)
        return ChainLink(**value)
