"""The traffic program under the address and undefined-behaviour sanitizers, over this machine's loopback."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env.checkout import ROOT
from env.network.traffic.accounting import TrafficError
from env.network.traffic.endpoints import flow_with_defaults, receive_argument, send_argument
from env.network.traffic.program import LENGTH, READY, Program
from env.network.traffic.run import flow_result, read_tables
from env.schema import column_names
from tests.support.stalls import repeated_after_a_stall
from tests.support.tools import compile_c

FLOW = ROOT / "env" / "network" / "traffic" / "flow"
SECONDS = 1.5
KINDS = [("bulk", 0), ("stream", 1 << 18), ("request", 1), ("request", 10240), ("request", (1 << 20) + 1)]
FLOWS = [
    flow_with_defaults(
        {"scheme": "reno", "start_s": 0.1 * i, "duration_s": SECONDS, "kind": kind, "size_bytes": size_bytes}
    )
    for i, (kind, size_bytes) in enumerate(KINDS)
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = (f"-I{ROOT / 'kernel' / 'lab'}", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover")
    return compile_c(tmp_path_factory.mktemp("flow") / "flow", *sorted(FLOW.glob("*.c")), *options)


def words(ending: str, endpoints: list[str], wait_s: float = 1) -> list[str]:
    """Return the words of a run that begins in wait_s seconds."""
    return [str(time.monotonic_ns() + round(wait_s * 1e9)), "50", ending, *endpoints]


def run(program: Path, *runs: list[str]) -> list[dict[str, bytes]]:
    """Make the runs in one process; return the tables of each run."""
    asked = "".join(" ".join(run) + "\n" for run in runs).encode()
    done = subprocess.run([str(program)], input=asked, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stderr
    records, answer = [], done.stdout
    while answer:
        assert answer.startswith(READY)
        answer = answer[len(READY) :]
        (length,) = LENGTH.unpack_from(answer)
        answer = answer[LENGTH.size :]
        records.append(read_tables(answer[:length]))
        answer = answer[length:]
    return records


def endpoints(receive_until_s: float | None = None) -> list[str]:
    ends = [receive_until_s or flow["start_s"] + flow["duration_s"] for flow in FLOWS]
    receives = [receive_argument(i, flow, "-", 1 << 16, ends[i]) for i, flow in enumerate(FLOWS)]
    return receives + [send_argument(i, flow, "-", "127.0.0.1") for i, flow in enumerate(FLOWS)]


@repeated_after_a_stall
def test_every_kind_of_traffic_is_accounted_for(program: Path) -> None:
    (tables,) = run(program, words("deliver", endpoints()))
    for i, flow in enumerate(FLOWS):
        result: dict[str, Any] = flow_result(i, flow, tables, delivered=True)
        assert result["received_bytes"] > 0
        if flow["kind"] == "request":
            # the request that the end cut off counts in the bytes, but has no latency
            assert result["latency"]["count"] == (result["sent_bytes"] - 1) // flow["size_bytes"]
        if flow["kind"] != "bulk":
            latency = result["latency"]
            assert latency["count"] == sum(count for _, _, count in latency["histogram"])
            assert latency["p50_us"] <= latency["p95_us"] <= latency["p99_us"] <= latency["max_us"]


@repeated_after_a_stall
def test_runs_that_end_with_a_reset(program: Path) -> None:
    # the second run can use the ports of the first, and its record has none of the first run's flows
    fewer = [end for end in endpoints(receive_until_s=2.2) if end.split(",")[1] == "1"]
    first, second = run(program, words("reset", endpoints(receive_until_s=2.2)), words("reset", fewer, wait_s=6))
    for i, flow in enumerate(FLOWS):
        assert flow_result(i, flow, first, delivered=False)["received_bytes"] > 0
    assert flow_result(1, FLOWS[1], second, delivered=False)["received_bytes"] > 0
    for table in ("sender", "receiver"):
        rows = np.frombuffer(second[table]).reshape(-1, len(column_names(table)))
        assert set(rows[:, 0]) == {1}
        assert rows[0, 1] < 2.2  # seconds since the second run began; the first run's clock would show more than 5


@pytest.fixture
def traffic(program: Path) -> Iterator[Program]:
    running = Program(str(program))
    yield running
    running._process.communicate()


def bulk(traffic: Program, end_s: float, stop_s: float | None = None) -> tuple[dict[str, Any], bool]:
    """Send one bulk flow, and stop it after stop_s seconds; return its result, and whether it was stopped."""
    flow = FLOWS[0] | {"duration_s": end_s}
    ends = [receive_argument(0, flow, "-", 1 << 16, end_s), send_argument(0, flow, "-", "127.0.0.1")]
    traffic.begin(words("reset", ends, wait_s=0.1))
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as stopping:
        stopped, _ = server.accept()
        timer = threading.Timer(stop_s or 0, stopping.send, [b"!", socket.MSG_OOB])  # urgent data is POLLPRI
        if stop_s is not None:
            timer.start()
        with stopped:
            record, early = traffic.end(stopped.fileno())
        timer.cancel()
    return flow_result(0, flow, read_tables(record), delivered=False), early


@repeated_after_a_stall
def test_stopped_run_leaves_nothing_to_the_next(traffic: Program) -> None:
    for seconds, stop_s, received in ((60.0, 0.0, False), (60.0, 1.0, True), (0.5, None, True)):
        result, early = bulk(traffic, seconds, stop_s)
        assert early == (stop_s is not None)
        assert (result["received_bytes"] > 0) == received


@repeated_after_a_stall
def test_failed_program_says_why_and_is_replaced(traffic: Program) -> None:
    with pytest.raises(TrafficError, match=r"the traffic program failed \(2\): flow: bad argument nonsense"):
        traffic.begin(words("reset", ["nonsense"]))
    assert bulk(traffic, 0.3)[0]["received_bytes"] > 0
    traffic.begin(words("reset", endpoints()))
    traffic.give_up()
    assert bulk(traffic, 0.3)[0]["received_bytes"] > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\n", "usage: echo 'ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...' | flow"),
        ("0 0 sometimes\n", "usage: echo 'ORIGIN_NS"),
        ("0 0 reset listen,0\n", "flow: bad argument listen,0"),
        ("0 0 reset send,0,-,127.0.0.1,reno,rpc,1,0,1\n", "flow: bad argument rpc"),
        ("0 0 reset send,0,-,127.0.0.1,reno,request,0,0,1\n", "bad argument send,0,-,127.0.0.1,reno,request"),
        ("0 0 reset send,0,-,nowhere,reno,bulk,0,0,1\n", "bad argument send,0,-,nowhere"),
        ("0 0 reset receive,0,/no/such/namespace,bulk,0,0,0,1\n", "/no/such/namespace: No such file"),
        ("0 0 reset send,0,-,127.0.0.1,nosuch,bulk,0,0,1\n", "nosuch: No such file"),
        ("0 0 reset " + "send,0,-,127.0.0.1,reno,bulk,0,0,1 " * 1001 + "\n", "bad argument send,0,-"),
        ("0 0 reset " + "queue,-,lo " * 600 + "\n", "bad argument queue,-,lo"),
    ],
)
def test_bad_run_is_named(program: Path, line: str, message: str) -> None:
    done = subprocess.run([str(program)], input=line, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Sanitizer" not in done.stderr


def test_truncated_record_is_refused() -> None:
    with pytest.raises(TrafficError, match="the record was cut off: 3 bytes are no table"):
        read_tables(b"sen")
    with pytest.raises(TrafficError, match="was cut off: 8 of 24 bytes of receiver"):
        read_tables(b"receiver" + (24).to_bytes(8, "little") + bytes(8))
