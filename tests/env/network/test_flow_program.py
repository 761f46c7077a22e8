"""The traffic program as it is, under sanitizers, over this machine's own loopback."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from env.network.accounting import TrafficError
from env.network.endpoints import flow_with_defaults, receive_argument, send_argument
from env.network.traffic import READY, flow_result, read_tables

FLOW = Path(__file__).resolve().parents[3] / "env" / "network" / "flow"
SECONDS = 0.5
KINDS = [("bulk", 0), ("stream", 1 << 18), ("request", 1), ("request", 10240), ("request", (1 << 20) + 1)]
FLOWS = [
    flow_with_defaults(
        {"scheme": "reno", "start_s": 0.1 * i, "duration_s": SECONDS, "kind": kind, "size_bytes": size_bytes}
    )
    for i, (kind, size_bytes) in enumerate(KINDS)
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("flow") / "flow"
    options = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    subprocess.run(["cc", *options, "-o", str(built), *map(str, sorted(FLOW.glob("*.c")))], check=True)
    return built


def run(program: Path, ending: str, endpoints: list[str]) -> dict[str, bytes]:
    origin_ns = time.monotonic_ns() + 500_000_000
    command = [str(program), str(origin_ns), "50", ending, *endpoints]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stderr
    assert done.stdout.startswith(READY)
    return read_tables("traffic program", done.stdout[len(READY) :])


def endpoints(receive_until_s: float | None = None) -> list[str]:
    ends = [receive_until_s or flow["start_s"] + flow["duration_s"] for flow in FLOWS]
    receives = [receive_argument(i, flow, "-", 1 << 16, ends[i]) for i, flow in enumerate(FLOWS)]
    return receives + [send_argument(i, flow, "-", "127.0.0.1") for i, flow in enumerate(FLOWS)]


def test_every_kind_of_traffic_is_delivered_and_accounted_for(program: Path) -> None:
    tables = run(program, "deliver", endpoints())
    for i, flow in enumerate(FLOWS):
        result: dict[str, Any] = flow_result(i, flow, tables, delivered=True)
        assert result["received_bytes"] > 0
        if flow["kind"] == "request":
            # the one that the end cut off is in the bytes and not in the latencies
            assert result["latency"]["count"] == (result["sent_bytes"] - 1) // flow["size_bytes"]
        if flow["kind"] != "bulk":
            latency = result["latency"]
            assert latency["count"] == sum(count for _, _, count in latency["histogram"])
            assert latency["p50_us"] <= latency["p95_us"] <= latency["p99_us"] <= latency["max_us"]


def test_flows_that_end_with_a_reset(program: Path) -> None:
    tables = run(program, "reset", endpoints(receive_until_s=1.2))
    for i, flow in enumerate(FLOWS):
        assert flow_result(i, flow, tables, delivered=False)["received_bytes"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: flow ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT..."),
        (["0", "0", "sometimes"], "usage: flow ORIGIN_NS"),
        (["0", "0", "reset", "listen,0"], "flow: bad argument listen,0"),
        (["0", "0", "reset", "send,0,-,127.0.0.1,reno,rpc,1,0,1"], "flow: bad argument rpc"),
        (["0", "0", "reset", "send,0,-,127.0.0.1,reno,request,0,0,1"], "bad argument send,0,-,127.0.0.1,reno,request"),
        (["0", "0", "reset", "send,0,-,nowhere,reno,bulk,0,0,1"], "bad argument send,0,-,nowhere"),
        (["0", "0", "reset", "receive,0,/no/such/namespace,bulk,0,0,1"], "/no/such/namespace: No such file"),
        (["0", "0", "reset", "send,0,-,127.0.0.1,nosuch,bulk,0,0,1"], "nosuch: No such file"),
    ],
)
def test_a_bad_command_says_what_is_bad(program: Path, arguments: list[str], message: str) -> None:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Sanitizer" not in done.stderr


def test_a_record_that_was_cut_off_is_refused() -> None:
    with pytest.raises(TrafficError, match="record of the traffic program was cut off: 3 bytes are no table"):
        read_tables("traffic program", b"sen")
    with pytest.raises(TrafficError, match="was cut off: 8 of 24 bytes of receiver"):
        read_tables("traffic program", b"receiver" + (24).to_bytes(8, "little") + bytes(8))
