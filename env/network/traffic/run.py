"""The traffic of a run: calls the traffic program, reads its record and accounts for every byte. Runs in the guest."""

from __future__ import annotations

import base64
import random
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from env.network.traffic.accounting import PERCENTILES, TrafficError, check_accounts, percentile
from env.network.traffic.endpoints import flow_with_defaults, queue_argument
from env.schema import RESULT_TABLES, SAMPLES, row_struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from env.network.topology.chain_topology import ChainTopology
    from env.network.topology.path_topology import Topology
    from env.network.topology.rack_topology import RackTopology
    from env.network.traffic.program import Program

TABLE_HEADER = struct.Struct("=8sQ")

NEEDED = ("scheme", "start_s", "duration_s")  # keys of a flow without a default
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

# In real time the two ends of a flow are sampled some 10 ms apart, and its rate may then be ten times its mean.
SAMPLES_APART_S = 0.1


class RunLate(TrafficError):
    """The preparation of a run took longer than its clock allows."""


def run(
    topology: Topology | RackTopology | ChainTopology,
    program: Program,
    flows: list[dict[str, Any]],
    duration_s: float,
    sample_ms: int,
    stop_fd: int,
    origin_ns: int,
    same_instant: bool = True,
    ready: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Send all flows and return the measurements of both ends.

    flows: dicts with scheme, start_s, duration_s and, for other traffic than flow_with_defaults() gives, algorithm,
    kind, size_bytes, pause_s, client and server; stagger_s: the maximum of a random delay of the start. sample_ms: 0
    for only the last sample of each flow. stop_fd: the run ends early at its POLLPRI.
    origin_ns: the start of the run on CLOCK_MONOTONIC. same_instant: whether both ends of a flow are sampled at the
    same instant, as in virtual time. ready: called when all receivers listen, before the origin.

    Raises TrafficError for a run without flows, for a flow without a key that it needs, for a congestion control that
    the kernel lacks, for a program that fails, with its output, and for bytes that are unaccounted for.
    """
    if not flows:
        raise TrafficError("a run has no flows; it needs at least one")
    for flow in flows:
        if lacking := [key for key in NEEDED if key not in flow]:
            raise TrafficError(f"flow {flow} lacks {', '.join(lacking)}; a flow needs {', '.join(NEEDED)}")
    complete = [_staggered(flow_with_defaults(flow)) for flow in flows]
    endpoints = topology.endpoints(complete, duration_s)
    if sample_ms:
        endpoints.append(queue_argument(*topology.queue()))
    program.begin([str(origin_ns), str(sample_ms), topology.ending, *endpoints])
    try:
        late_ns = time.monotonic_ns() - origin_ns
        if late_ns > 0:
            raise RunLate(f"the run was ready {late_ns / 1e6:.3f} ms after it should have begun")
        if ready is not None:
            ready()
        record, early = program.end(stop_fd)
    except BaseException as error:
        program.give_up()
        if type(error) is TrafficError and (missing := _missing_algorithm(complete)):
            raise TrafficError(missing) from error
        raise
    tables = read_tables(record)
    delivered = topology.ending == "deliver" and not early
    result: dict[str, Any] = {
        "duration_s": duration_s,
        "flows": [flow_result(i, flow, tables, delivered, same_instant) for i, flow in enumerate(complete)],
    }
    if sample_ms:
        result |= {table: base64.b64encode(tables[table]).decode() for table in SAMPLES}
        result["ports"] = _ports(tables, topology.queue()[1])
    return result


def _staggered(flow: dict[str, Any]) -> dict[str, Any]:
    """Return the flow with a random start, and a random seed for web traffic, both drawn from the lab's seed."""
    stagger_s = flow.pop("stagger_s", 0.0)
    if stagger_s:
        later_s = random.SystemRandom().randrange(round(stagger_s * 1e6)) / 1e6
        flow |= {"start_s": flow["start_s"] + later_s, "duration_s": flow["duration_s"] - later_s}
    if flow["kind"] == "web":
        flow |= {"seed": random.SystemRandom().randrange(1 << 53)}
    return flow


def _missing_algorithm(flows: list[dict[str, Any]]) -> str:
    """Return which congestion controls of flows the kernel lacks, and those that it has; "" when it lacks none."""
    available = AVAILABLE.read_text().split()
    missing = sorted({flow["algorithm"] for flow in flows} - set(available))
    if not missing:
        return ""
    return f"the kernel has no congestion control {', '.join(missing)}; it has {', '.join(available)}"


def _ports(tables: dict[str, bytes], devices: list[str]) -> list[dict[str, Any]]:
    """Return what each port has dropped, marked, lost and policed, packets."""
    counts = [_named("ports", row) for row in row_struct("ports").iter_unpack(tables["ports"])]
    return [{"device": device} | of_port for device, of_port in zip(devices, counts, strict=True)]


def read_tables(record: bytes) -> dict[str, bytes]:
    """Return the rows of each table, empty where a record has none. Raises TrafficError for one that was cut off."""
    tables = dict.fromkeys(RESULT_TABLES, b"")
    offset = 0
    while offset < len(record):
        if offset + TABLE_HEADER.size > len(record):
            raise TrafficError(f"the record was cut off: {len(record) - offset} bytes are no table")
        padded, length = TABLE_HEADER.unpack_from(record, offset)
        offset += TABLE_HEADER.size
        table = padded.rstrip(b"\0").decode()
        rows = record[offset : offset + length]
        if len(rows) != length or length % row_struct(table).size:
            raise TrafficError(f"the record was cut off: {len(rows)} of {length} bytes of {table}")
        tables[table] = rows
        offset += length
    return tables


def _named(table: str, row: Sequence[float]) -> dict[str, Any]:
    """Return a row by column name."""
    return {column.name: column.type(value) for column, value in zip(RESULT_TABLES[table], row, strict=True)}


def _last(tables: dict[str, bytes], table: str, flow: int) -> dict[str, Any]:
    """Return the last row of a flow by column name; empty when it has none."""
    row = row_struct(table)
    data = tables[table]
    for offset in range(len(data) - row.size, -1, -row.size):
        values = row.unpack_from(data, offset)
        if values[0] == flow:
            return _named(table, values)
    return {}


def flow_result(
    index: int, flow: dict[str, Any], tables: dict[str, bytes], delivered: bool, same_instant: bool = True
) -> dict[str, Any]:
    """Return a flow's counters at its end. Raises TrafficError when its bytes do not add up.

    delivered: whether all that the flow had written was delivered after its end.
    """
    sender, receiver = _last(tables, "sender", index), _last(tables, "receiver", index)
    sent_bytes, received_bytes = sender.get("sent_bytes", 0), receiver.get("bytes", 0)
    # the kernel counts the SYN as an acknowledged byte
    acked_bytes = max(sender.get("bytes_acked", 0) - 1, 0)
    name = f"flow {index} ({flow['scheme']}, {flow['kind']}, client {flow['client']} to server {flow['server']})"
    if delivered:
        later_sent, later_received = _last(tables, "sent", index), _last(tables, "received", index)
        if not sender or not later_sent or not later_received:
            raise TrafficError(f"{name}: the connection broke before everything that was sent had arrived")
        inflight_bytes = (later_received["bytes"] - received_bytes) - (later_sent["sent_bytes"] - sent_bytes)
    else:
        inflight_bytes = sent_bytes - received_bytes
    slack_bytes = 0 if same_instant else round(SAMPLES_APART_S * sent_bytes / flow["duration_s"])
    check_accounts(name, sent_bytes, received_bytes, inflight_bytes, acked_bytes, slack_bytes)
    result = flow | {
        "received_bytes": received_bytes,
        "sent_bytes": sent_bytes,
        "inflight_bytes": inflight_bytes,
        "segments_sent": sender.get("segments_sent", 0),
        "retransmits": sender.get("retransmits", 0),
    }
    if flow["kind"] != "bulk":
        result["latency"] = _latency(index, tables)
    return result


def _latency(index: int, tables: dict[str, bytes]) -> dict[str, Any]:
    totals = _last(tables, "latency", index)
    rows = [_named("buckets", row) for row in row_struct("buckets").iter_unpack(tables["buckets"]) if row[0] == index]
    buckets = [(row["low_us"], row["high_us"], row["count"]) for row in rows]
    count, largest = totals.get("count", 0), totals.get("max_us", 0.0)
    return {
        "count": count,
        "mean_us": totals["mean_us"] if count else float("nan"),
        **{f"p{percent}_us": percentile(buckets, percent, largest) for percent in PERCENTILES},
        "max_us": largest if count else float("nan"),
        "histogram": [list(bucket) for bucket in buckets],
    }
