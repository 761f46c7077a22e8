"""Bytes that do not add up end a run."""

from __future__ import annotations

from typing import Any

import pytest

from env.network.traffic.accounting import TrafficError, check_accounts
from env.network.traffic.run import flow_result
from env.schema import RESULT_TABLES, column_names, row_struct

FLOW = {
    "scheme": "reno",
    "start_s": 0.0,
    "duration_s": 1.0,
    "kind": "stream",
    "size_bytes": 1000,
    "client": 1,
    "server": 2,
}
NAME = r"flow 0 \(reno, stream, client 1 to server 2\)"


def record(**doctored: Any) -> dict[str, bytes]:
    """Return the record of a flow that had 900 of 1000 bytes delivered when it ended, and all 1200 in the end."""
    rows = {
        # bytes_acked counts the SYN
        "sender": {"sent_bytes": 1000, "bytes_acked": 801, "segments_sent": 2, "retransmits": 1},
        "receiver": {"bytes": 900},
        "sent": {"sent_bytes": 1200, "acked_bytes": 1201},
        "received": {"bytes": 1200},
        "latency": {"count": 1, "mean_us": 40.0, "max_us": 40.0},
        "buckets": {"low_us": 39.9, "high_us": 40.1, "count": 1},
    }
    for key, value in doctored.items():
        table, column = key.split("__")
        rows[table][column] = value
    return {
        table: row_struct(table).pack(*(rows.get(table, {}).get(column, 0) for column in column_names(table)))
        for table in RESULT_TABLES
    }


def test_a_run_whose_bytes_add_up() -> None:
    result = flow_result(0, FLOW, record(), delivered=True)
    assert (result["sent_bytes"], result["received_bytes"], result["inflight_bytes"]) == (1000, 900, 100)
    assert (result["segments_sent"], result["retransmits"]) == (2, 1)
    assert result["latency"]["count"] == 1
    assert result["latency"]["p99_us"] == pytest.approx(40)


@pytest.mark.parametrize(
    ("doctored", "message"),
    [
        ({"received__bytes": 1199}, "sent 1000, received 900, in flight 99 bytes: 1 bytes are unaccounted for"),
        ({"received__bytes": 1201}, "sent 1000, received 900, in flight 101 bytes: -1 bytes are unaccounted for"),
        ({"sent__sent_bytes": 1448 + 1200}, "sent 1000, received 900, in flight -1348 bytes: 1448 bytes are"),
        ({"receiver__bytes": 1001}, "in flight -1 bytes: it received more than was sent"),
        ({"sender__bytes_acked": 902}, "901 bytes were acknowledged: more than was received"),
        ({"received__flow": 1}, "the connection broke before everything that was sent had arrived"),
    ],
)
def test_missing_or_extra_byte_names_the_flow(doctored: dict[str, int], message: str) -> None:
    with pytest.raises(TrafficError, match=f"{NAME}: .*{message}"):
        flow_result(0, FLOW, record(**doctored), delivered=True)


def test_reset_flow_cannot_receive_unsent_bytes() -> None:
    assert flow_result(0, FLOW, record(), delivered=False)["inflight_bytes"] == 100
    with pytest.raises(TrafficError, match=f"{NAME}: .*received more than was sent"):
        flow_result(0, FLOW, record(receiver__bytes=1448), delivered=False)


def test_the_check_itself() -> None:
    check_accounts("flow 1", 10, 7, 3, 7)
    with pytest.raises(TrafficError, match="flow 1: sent 10, received 7, in flight 2 bytes: 1 bytes"):
        check_accounts("flow 1", 10, 7, 2, 7)
