"""One finished run as files: ``run.json`` and its samples in Parquet.

    run.json           the lab's result without the samples, and the SHA-256 of the other files
    sender.parquet     the senders' samples: flow, t_s, cwnd, srtt_us, ... (docs/reference/file-formats.md)
    receiver.parquet   the receivers': flow, t_s, bytes
    queue.parquet      the bottleneck's, where it was sampled

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
from numpy.typing import NDArray

from compare.errors import CompareError

RUN = "run.json"
OF_FLOWS = ("sender", "receiver")  # a table in each flow of the result
OF_THE_RUN = ("queue",)  # a table of the result itself


def pack(result: Mapping[str, Any]) -> dict[str, bytes]:
    """Return file name to content; run.json is the last."""
    files: dict[str, bytes] = {}
    rest = dict(result)
    for name in OF_FLOWS:
        tables = [flow[name] for flow in result["flows"] if name in flow]
        if tables:
            files[f"{name}.parquet"] = _parquet_of_flows(result["flows"], name)
    for name in OF_THE_RUN:
        if name in rest:
            table = rest.pop(name)
            files[f"{name}.parquet"] = _parquet(table["columns"], _rows(table))
    rest["flows"] = [{key: flow[key] for key in flow if key not in OF_FLOWS} for flow in result["flows"]]
    rest["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files[RUN] = json.dumps(rest, indent=1, default=_plain).encode() + b"\n"
    return files


def check(files: Mapping[str, bytes]) -> tuple[dict[str, Any], list[str]]:
    """Return the content of run.json and the names of the other files, which are what was written.

    Raises CompareError that says what is missing or damaged.
    """
    try:
        result = json.loads(files[RUN])
        expected = dict(result.pop("files"))
    except KeyError as error:
        raise CompareError(f"{error.args[0]} is missing") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise CompareError(f"{RUN} is damaged ({error})") from error
    for name, digest in expected.items():
        if name not in files:
            raise CompareError(f"{name} is missing")
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise CompareError(f"{name} is damaged: its {len(files[name])} bytes are not those that were written")
    return result, list(expected)


def unpack(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the lab's result, the samples as arrays (rows, columns) float64; raises CompareError as check() does."""
    result, names = check(files)
    for name in names:
        columns, rows = _read(files[name])
        table = name.removesuffix(".parquet")
        if table in OF_THE_RUN:
            result[table] = {"columns": columns, "rows": rows}
            continue
        for index, flow in enumerate(result["flows"]):
            flow[table] = {"columns": columns[1:], "rows": rows[rows[:, 0] == index, 1:]}
    return result


def _rows(table: Mapping[str, Any]) -> NDArray[np.float64]:
    return np.asarray(table["rows"], dtype=np.float64).reshape(-1, len(table["columns"]))


def _parquet_of_flows(flows: list[dict[str, Any]], name: str) -> bytes:
    parts = [_rows(flow[name]) for flow in flows]
    index = np.repeat(np.arange(len(flows), dtype=np.float64), [len(part) for part in parts])
    return _parquet(["flow", *flows[0][name]["columns"]], np.column_stack([index, np.vstack(parts)]))


def _parquet(columns: list[str], rows: NDArray[np.float64]) -> bytes:
    sink = io.BytesIO()
    table = pa.table({name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(columns)})
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _read(content: bytes) -> tuple[list[str], NDArray[np.float64]]:
    table = pq.read_table(pa.BufferReader(content), use_threads=False)
    rows = np.empty((table.num_rows, table.num_columns))
    for i in range(table.num_columns):
        rows[:, i] = table.column(i).to_numpy()
    return table.column_names, rows


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not belong into a run's result")
