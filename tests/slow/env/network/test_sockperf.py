"""The request traffic against sockperf, in real time, over this machine's loopback.

sockperf's ping-pong over TCP does what a request flow does: it writes a message, waits for the answer, and keeps every
round trip. (Its answer is as long as the message, ours is a byte: over loopback that is one copy.) Both run under
SCHED_FIFO, or on a busy machine the tail would be that of the scheduler. Both ends share one core: in a virtual machine
the wake-up of another core takes twice as long as all the rest, and how long changes from second to second. Each figure
is the least of its rounds, because whatever else the machine does only adds to it. The loopback is that of a network
namespace in which no other program can have the ports.

    pytest tests/slow/env/network/test_sockperf.py -s      # prints both
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from env.lab.lab import PROGRAM
from env.network.traffic.endpoints import flow_with_defaults, receive_argument, send_argument
from env.network.traffic.program import LENGTH, READY
from env.network.traffic.run import flow_result, read_tables
from tests.support.tools import find_tool, require


def real_time() -> list[str]:
    """Return the command that gives the next one its core whenever it wants it."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), "chrt", "-f", "20"]


def may_run_in_real_time() -> bool:
    try:
        return subprocess.run([*real_time(), "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


SECONDS = 1.0
ROUNDS = 6
PORT = 11111
CLONE_NEWNET = 0x40000000


@pytest.fixture
def own_loopback() -> Iterator[None]:
    """Move the test to a network namespace of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as before:
        require(libc.unshare(CLONE_NEWNET) == 0, "this user may not create a network namespace")
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            yield
        finally:
            assert libc.setns(before.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())


def wait_for(server: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens: it says so only on a terminal."""
    deadline = time.monotonic() + 10
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", PORT)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("sockperf's server does not listen")


def sockperf(size_bytes: int) -> tuple[float, float]:
    """Return mean and 99th percentile of the round trip, us."""
    where = ["--tcp", "-i", "127.0.0.1", "-p", str(PORT)]
    server = subprocess.Popen([*real_time(), "sockperf", "server", *where], stdout=subprocess.DEVNULL)
    try:
        wait_for(server)
        client = [*real_time(), "sockperf", "ping-pong", *where, "-m", str(size_bytes), "-t", f"{SECONDS:.0f}"]
        done = subprocess.run([*client, "--full-rtt"], capture_output=True, text=True, check=True, timeout=60)
    finally:
        server.terminate()
        server.wait()
    mean, tail = (re.search(p, done.stdout) for p in (r"avg-rtt=([\d.]+)", r"percentile 99\.000 =\s+([\d.]+)"))
    assert mean, done.stdout
    assert tail, done.stdout
    return float(mean[1]), float(tail[1])


def ours(size_bytes: int) -> tuple[float, float]:
    """Return mean and 99th percentile of our requests' latency, us; one process for either end, as sockperf has."""
    flow = flow_with_defaults(
        # every user may have it
        {"scheme": "reno", "start_s": 0.0, "duration_s": SECONDS, "kind": "request", "size_bytes": size_bytes}
    )
    origin_ns = time.monotonic_ns() + 300_000_000
    sides: list[subprocess.Popen[bytes]] = []
    try:
        for endpoint in (receive_argument(0, flow, "-", 0, SECONDS), send_argument(0, flow, "-", "127.0.0.1")):
            piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            sides.append(subprocess.Popen([*real_time(), str(PROGRAM)], **piped))
            pipes = sides[-1].stdin, sides[-1].stdout
            assert pipes[0] is not None
            assert pipes[1] is not None
            pipes[0].write(f"{origin_ns} 0 deliver {endpoint}\n".encode())
            pipes[0].flush()
            assert pipes[1].read(len(READY)) == READY
        tables = read_tables(b"")
        for side in sides:
            record = side.communicate(timeout=60)[0]
            tables |= {name: rows for name, rows in read_tables(record[LENGTH.size :]).items() if rows}
            assert side.returncode == 0
    finally:
        for side in sides:
            side.kill()
            side.wait()
    latency = flow_result(0, flow, tables, delivered=True)["latency"]
    return latency["mean_us"], latency["p99_us"]


@pytest.mark.usefixtures("own_loopback")
@pytest.mark.parametrize("size_bytes", [64, 10240])
def test_requests_take_as_long_as_sockperfs_ping_pong(size_bytes: int) -> None:
    find_tool("sockperf", "slow")
    require(may_run_in_real_time(), "this machine does not allow SCHED_FIFO")
    theirs, measured = [], []
    for _ in range(ROUNDS):  # in turns: what else the machine does meets both
        theirs.append(sockperf(size_bytes))
        measured.append(ours(size_bytes))
    mean_us, tail_us = (min(column) for column in zip(*theirs, strict=True))
    own_mean_us, own_tail_us = (min(column) for column in zip(*measured, strict=True))
    print(
        f"\n{size_bytes} bytes: sockperf mean {mean_us:.1f} us, p99 {tail_us:.1f} us; "
        f"ours {own_mean_us:.1f} us, {own_tail_us:.1f} us"
    )
    assert own_mean_us == pytest.approx(mean_us, rel=0.25)
    assert tail_us / 2 < own_tail_us < tail_us * 2
