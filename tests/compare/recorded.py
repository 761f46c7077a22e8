"""Results for the tests: one that the lab recorded (stress, Cubic, 5 s, seed 1), and small ones made by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "data" / "stress-cubic-5s.json.gz"
SENDER = [
    "t_s",
    "cwnd",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "retransmits",
    "unacked",
    "lost",
    "ssthresh",
    "pacing_rate",
    "delivery_rate",
]


def recorded() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return result


def made_flow(
    *, sent: list[tuple[float, float, float]], received: list[tuple[float, float]], retransmits: int = 0, **times: float
) -> dict[str, Any]:
    """sent: (t_s, cwnd, srtt_us); received: (t_s, bytes so far); times: start_s, duration_s."""
    return {
        "scheme": "cubic",
        "start_s": times.get("start_s", 0.0),
        "duration_s": times.get("duration_s", 4.0),
        "received_bytes": int(received[-1][1]) if received else 0,
        "retransmits": retransmits,
        "sender": {
            "columns": SENDER,
            "rows": [[t, cwnd, srtt, srtt / 2, srtt, 0, 5, 0, 10, 1e6, 1e6] for t, cwnd, srtt in sent],
        },
        "receiver": {"columns": ["t_s", "bytes"], "rows": [list(row) for row in received]},
    }
