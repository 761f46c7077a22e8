"""A Ray cluster serves the command that started it, and clients with its token; no others."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)
START = """
import time
from env.pool.ray_pool import connect
ray = connect(None)
print(ray.get_runtime_context().gcs_address, flush=True)
assert ray.get(ray.remote(lambda: 5).remote()) == 5
print("works", flush=True)
input()
ray.shutdown()
"""
USE = """
import logging
import ray
ray.init(address="ADDRESS", logging_level=logging.ERROR, log_to_driver=False)
print("EXECUTED", ray.get(ray.remote(num_cpus=0)(lambda: 6).remote(), timeout=60))
"""


def without_token(home: Path) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("RAY_")} | {"HOME": str(home)}


def use(address: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a client that knows nothing of this project; one that gets no answer for a minute ends with 124."""
    command = ["timeout", "60", sys.executable, "-c", USE.replace("ADDRESS", address)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command with a cluster of its own, and the address."""
    environment = without_token(tmp_path) | {"RAY_AUTH_MODE": "disabled"}  # only for clusters that are named
    process = subprocess.Popen(
        [sys.executable, "-c", START], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert process.stdout.readline() == "works\n"
    try:
        yield process, address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_only_the_command_uses_its_cluster(tmp_path: Path, own_cluster: tuple[subprocess.Popen[str], str]) -> None:
    process, address = own_cluster
    for environment in (without_token(tmp_path), without_token(tmp_path) | {"RAY_AUTH_MODE": "disabled"}):
        done = use(address, environment)
        assert done.returncode != 0
        assert "EXECUTED" not in done.stdout
    family = [process.pid]
    for pid in family:
        family += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    commands = b" ".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family).decode()
    assert "raylet" in commands
    listening = subprocess.run(["ss", "-lntpH"], capture_output=True, text=True, check=True).stdout.splitlines()
    # ss names no process for a socket of the kernel or of another container
    owners = [(line.split()[3], set(map(int, re.findall(r"pid=(\d+)", line)))) for line in listening]
    ours = [place for place, pids in owners if not pids.isdisjoint(family)]
    assert len(ours) > 3
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+|\[::ffff:127\.0\.0\.1\]:\d+", place) for place in ours), ours
    environments = [Path(f"/proc/{pid}/environ").read_bytes() for pid in family[1:]]
    (token,) = {token for text in environments for token in re.findall(rb"RAY_AUTH_TOKEN=(\w+)", text)}
    assert len(token) == 64
    assert token.decode() not in commands
    (private,) = map(Path, set(re.findall(r"/tmp/ndm-ray-\w+", commands)))
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert not private.exists()


def test_a_named_cluster_needs_its_token(tmp_path: Path, cluster: Any) -> None:
    command = [sys.executable, "train.py", "profile=bottleneck", "debug=smoke", "runner=ray", f"runs={tmp_path}"]
    environment = without_token(tmp_path)
    done = subprocess.run(
        [*command, f"ray_address={cluster.address}"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    error = " ".join(done.stderr.split())
    assert error.startswith(f"train.py: the Ray cluster {cluster.address} cannot be reached: "), error
    assert "Traceback" not in error
    assert "the token of this machine (docs/guides/cluster.md)" in error
    assert "EXECUTED 6" in use(cluster.address, dict(os.environ)).stdout
    for mode in ({}, {"RAY_AUTH_MODE": "disabled"}):
        assert "EXECUTED" not in use(cluster.address, environment | mode).stdout
