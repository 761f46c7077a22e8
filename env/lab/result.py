"""The result of a run: what each flow sent and received, and the samples that were taken during the run.

docs/reference/file-formats.md explains the fields and the columns of the samples.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from env.schema import SAMPLES, column_names

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Samples with named columns. columns: empty when nothing was sampled. rows: shape (rows, columns)."""

    columns: tuple[str, ...] = ()
    rows: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> Floats:
        """Return a column, shape (rows,). Raises ValueError when the table has no such column."""
        if column not in self.columns:
            raise ValueError(f"the samples have no column {column!r}; they have {', '.join(self.columns) or 'none'}")
        return self.rows[:, self.columns.index(column)]

    def of_flow(self, index: int) -> Table:
        """Return the rows of one flow, without the first column, which is the flow's index."""
        return Table(self.columns[1:], self.rows[self.rows[:, 0] == index, 1:])


@dataclass(kw_only=True)
class Latency:
    """How long a flow's requests or writes took. histogram: (low_us, high_us, count), low included and high not."""

    count: int
    mean_us: float = np.nan
    p50_us: float = np.nan
    p95_us: float = np.nan
    p99_us: float = np.nan
    max_us: float = np.nan
    histogram: list[tuple[float, float, int]] = field(default_factory=list)


@dataclass(kw_only=True, eq=False)
class FlowResult:
    """A flow as requested, and what it did until it ended.

    pause_s: of web traffic, and of requests that pause. seed: of web traffic. receive_buffer_bytes: 0 if the kernel
    sizes the buffer. received_bytes: read by the receiving application. sent_bytes: sent at least once.
    inflight_bytes: sent and not received. segments_sent: including retransmissions, which `retransmits` counts.
    latency: None for bulk traffic. algorithm: the kernel's name of the congestion control.
    sender, receiver: the samples of both ends; empty when the run had no sample_ms.
    """

    kind: str = "bulk"
    client: int = 1
    server: int = 1
    size_bytes: int = 0
    receive_buffer_bytes: int = 0
    scheme: str
    start_s: float
    duration_s: float
    pause_s: float | None = None
    seed: int | None = None
    received_bytes: int
    sent_bytes: int = 0
    inflight_bytes: int = 0
    segments_sent: int = 0
    retransmits: int = 0
    latency: Latency | None = None
    algorithm: str | None = None
    sender: Table = field(default_factory=Table)
    receiver: Table = field(default_factory=Table)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FlowResult:
        """Return the flow of plain data, without samples. Raises TypeError for an unknown or a missing field."""
        latency = data.get("latency")
        return cls(**data | ({"latency": Latency(**latency)} if latency else {}))


@dataclass(kw_only=True)
class PortCounts:
    """The packets that a port of the network dropped, marked (ECN), lost on its link (netem) and policed."""

    device: str
    port: int = 0
    dropped: int = 0
    marked: int = 0
    lost: int = 0
    policed: int = 0


@dataclass(kw_only=True, eq=False)
class RunResult:
    """The result of a run.

    ports: of the bottleneck's queues. queue: the samples of the ports. Both are empty without sample_ms. pulse: whether
    a guest in real time kept up (env/lab/pulse). trace: the lines of ndm_decision; empty without trace. environment:
    kernel, modules, qdiscs and sysctls; empty without describe.
    """

    duration_s: float
    flows: list[FlowResult]
    ports: list[PortCounts] = field(default_factory=list)
    pulse: dict[str, float] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    queue: Table = field(default_factory=Table)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RunResult:
        """Return the result of plain data, without samples. Raises TypeError for an unknown or a missing field."""
        flows = [FlowResult.from_dict(flow) for flow in data["flows"]]
        return cls(**data | {"flows": flows, "ports": [PortCounts(**port) for port in data.get("ports", ())]})

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, without samples and without what is empty."""
        plain = {name: value for name, value in vars(self).items() if name not in SAMPLES and value}
        plain["flows"] = [_flow_as_dict(flow) for flow in self.flows]
        if self.ports:
            plain["ports"] = [asdict(port) for port in self.ports]
        return plain

    def set_samples(self, name: str, table: Table) -> None:
        """Set the samples of the queue, or of one end of all flows, whose first column is the flow's index."""
        if name == "queue":
            self.queue = table
        else:
            for index, flow in enumerate(self.flows):
                setattr(flow, name, table.of_flow(index))

    @classmethod
    def from_reply(cls, reply: dict[str, Any]) -> RunResult:
        """Return the result of the agent's reply to `run`."""
        result = cls.from_dict({name: value for name, value in reply.items() if name not in SAMPLES})
        for name in SAMPLES:
            if name in reply:
                columns = column_names(name)
                rows = np.frombuffer(base64.b64decode(reply[name])).reshape(-1, len(columns))
                result.set_samples(name, Table(columns, rows))
        return result


def _flow_as_dict(flow: FlowResult) -> dict[str, Any]:
    plain = {name: value for name, value in vars(flow).items() if name not in SAMPLES and value is not None}
    return plain | ({"latency": asdict(flow.latency)} if flow.latency else {})
