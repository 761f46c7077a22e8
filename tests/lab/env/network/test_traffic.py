"""What the lab's kernel sends, receives and samples for the traffic program is what the program itself would."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from env.lab import GuestFailed, Lab
from env.network.path import Path
from env.network.rack import Rack
from tests.support.guest import kernel_version, kill, shell
from tests.support.labs import shared_lab

DEVICE, HIDDEN = "/dev/lab_traffic", "/dev/hidden"
SECONDS = 2.0
FLOWS = [
    {"scheme": "cubic", "start_s": 0.0, "duration_s": 2.0},
    {"scheme": "bbr", "start_s": 0.5, "duration_s": 1.0},
    {"scheme": "reno", "start_s": 1.0, "duration_s": 1.0, "kind": "stream", "size_bytes": 1 << 18},
    {"scheme": "reno", "start_s": 1.0, "duration_s": 1.0, "kind": "request", "size_bytes": 10240},
    # larger than the receiver's buffer
    {"scheme": "cubic", "start_s": 0.2, "duration_s": 1.5, "kind": "request", "size_bytes": 8 << 20},
    {"scheme": "bbr", "start_s": 0.2, "duration_s": 1.5, "kind": "web", "size_bytes": 50_000, "pause_s": 0.02},
]
LOSSY = "tc qdisc add dev lo root netem delay 10ms rate 20mbit loss 0.5% limit 100"
NETWORKS = {
    "router": (Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1.0), FLOWS),
    "loopback": (Path(topology="loopback", reference_mbps=20, tc=(LOSSY,)), FLOWS),
    # each flow ends when what was written is delivered
    "rack": (Rack(clients=2, servers=1), [flow | {"client": i % 2} for i, flow in enumerate(FLOWS[:-1])]),
}

lab = shared_lab()


def tables(lab: Lab, network: Path | Rack, flows: list[dict[str, Any]]) -> dict[str, Any]:
    lab.begin_run(network, flows, SECONDS, seed=3, sample_ms=10)
    return lab.receive().result


def restart_program(lab: Lab, network: Path | Rack, flows: list[dict[str, Any]]) -> None:
    """Have the lab replace the traffic program, which opens the device when it starts."""
    kill(lab, "flow")
    with pytest.raises(GuestFailed, match="traffic program failed"):
        tables(lab, network, flows)


def differing(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    """Return the share of the rows that differ in each table of samples; what is no table must be the same."""
    assert one.keys() == other.keys()
    shares = {}
    for name, content in one.items():
        if isinstance(content, dict) and "data" in content:
            rows = [
                np.frombuffer(base64.b64decode(table["data"]), np.uint64).reshape(-1, len(content["columns"]))
                for table in (content, other[name])
            ]
            shares[name] = float((rows[0] != rows[1]).any(axis=1).mean())
        else:
            assert content == other[name]
    return shares


@pytest.mark.parametrize("name", NETWORKS)
def test_a_run_without_the_device_is_the_same(lab: Lab, name: str) -> None:
    """To the byte: all samples, queues, latencies. Without the device the program does all itself, as in lab=vm."""
    in_kernel = tables(lab, *NETWORKS[name])
    shell(lab, f"mv {DEVICE} {HIDDEN}")
    try:
        restart_program(lab, *NETWORKS[name])
        in_program = tables(lab, *NETWORKS[name])
    finally:
        shell(lab, f"mv {HIDDEN} {DEVICE}")
        restart_program(lab, *NETWORKS[name])
    assert in_kernel["flows"][0]["received_bytes"] > 1_000_000
    if kernel_version(lab) >= (6, 12):
        assert in_kernel == in_program
    else:  # a sample in some hundreds is a microsecond earlier or later
        assert max(differing(in_kernel, in_program).values()) <= 0.01
