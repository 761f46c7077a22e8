"""One finished run as files: ``run.json`` and its samples in Parquet.

    run.json           the lab's result without the samples, and the SHA-256 of the other files
    sender.parquet     samples of the senders: flow, t_s, cwnd, srtt_us, ... (docs/reference/file-formats.md)
    receiver.parquet   samples of the receivers: flow, t_s, bytes
    queue.parquet      samples of the bottleneck, if there are any

The same result gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from env.errors import UserError
from env.lab import RunResult, Table

RUN = "run.json"


def pack(result: RunResult) -> dict[str, bytes]:
    """Return file name to content; run.json is the last."""
    tables = {"sender": _of_flows(result, "sender"), "receiver": _of_flows(result, "receiver"), "queue": result.queue}
    files = {f"{name}.parquet": _parquet(table) for name, table in tables.items() if table.columns}
    plain = result.as_dict()
    plain["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files[RUN] = json.dumps(plain, indent=1).encode() + b"\n"
    return files


def check(files: Mapping[str, bytes]) -> tuple[dict[str, Any], list[str]]:
    """Check that all files are there and unchanged; return the content of run.json and the names of the other files.

    Raises UserError that names the missing or damaged file.
    """
    try:
        result = json.loads(files[RUN])
        expected = dict(result.pop("files"))
    except KeyError as error:
        raise UserError(f"{error.args[0]} is missing") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{RUN} is damaged ({error})") from error
    for name, digest in expected.items():
        if name not in files:
            raise UserError(f"{name} is missing")
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise UserError(f"{name} is damaged: its SHA-256 is not that of {RUN}")
    return result, list(expected)


def unpack(files: Mapping[str, bytes]) -> RunResult:
    """Return the lab's result; raises UserError as check() does."""
    plain, names = check(files)
    plain.pop("guard", None)  # an older run may have it: how often a guard acted, which NDM no longer has
    try:
        result = RunResult.from_dict(plain)
    except (KeyError, TypeError) as error:
        raise UserError(f"{RUN} lacks a field of a run, or has an unknown one: {error}") from error
    for name in names:
        result.set_samples(name.removesuffix(".parquet"), _read(files[name]))
    return result


def _of_flows(result: RunResult, name: str) -> Table:
    """Return the samples of one end of all flows as one table with the flow's index as first column."""
    tables: list[Table] = [getattr(flow, name) for flow in result.flows]
    if not tables[0].columns:
        return Table()
    index = np.repeat(np.arange(len(tables), dtype=np.float64), [len(table) for table in tables])
    return Table(("flow", *tables[0].columns), np.column_stack([index, np.vstack([table.rows for table in tables])]))


def _parquet(table: Table) -> bytes:
    sink = io.BytesIO()
    columns = pa.table({name: np.ascontiguousarray(table[name]) for name in table.columns})
    pq.write_table(columns, sink, compression="zstd")
    return sink.getvalue()


def _read(content: bytes) -> Table:
    table = pq.read_table(pa.BufferReader(content), use_threads=False)
    rows = np.empty((table.num_rows, table.num_columns))
    for i in range(table.num_columns):
        rows[:, i] = table.column(i).to_numpy()
    return Table(tuple(table.column_names), rows)
