"""The result of a run, as the host uses it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def decode_run(result: dict[str, Any]) -> dict[str, Any]:
    """Return a `run` result with each flow's samples as an array (rows, columns), the flow's index dropped.

    The queue's samples are one array.
    """
    for side in ("sender", "receiver"):
        packed = result.pop(side, None)
        if packed is None:
            continue
        columns = packed["columns"]
        table = np.frombuffer(base64.b64decode(packed["data"])).reshape(-1, len(columns))
        for i, flow in enumerate(result["flows"]):
            flow[side] = {"columns": columns[1:], "rows": table[table[:, 0] == i, 1:]}
    if "queue" in result:
        columns = result["queue"]["columns"]
        rows = np.frombuffer(base64.b64decode(result["queue"]["data"])).reshape(-1, len(columns))
        result["queue"] = {"columns": columns, "rows": rows}
    return result
