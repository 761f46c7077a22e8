"""train.py runner=ray on a cluster of two nodes: the same weights as local processes, also when a node dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from export import checkpoint
from tests.support.commands import SMALL, WITH_SNAPSHOTS, ended, start, train, wait_for

pytestmark = pytest.mark.timeout(600)


def worker() -> int:
    """Wait for a worker of the cluster that has a job; return its process id."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "cmdline").read_bytes().startswith(b"ray::do_job"):
                    return int(folder.name)
            except OSError:
                continue  # it has gone
    raise AssertionError("no worker has a job")


def test_dying_worker_and_node_change_no_weights(tmp_path: Path, cluster: Any) -> None:
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    options = [*SMALL, *WITH_SNAPSHOTS, f"runs={tmp_path}", "algo.total_decisions=3000"]
    process = start("train.py", *options, "name=cluster", "runner=ray", f"ray_address={cluster.address}")
    run = tmp_path / "cluster"
    wait_for(process, run, decisions=300)
    os.kill(worker(), signal.SIGKILL)
    wait_for(process, run, decisions=checkpoint.load(run)["decisions"] + 1)
    cluster.remove_node(second, allow_graceful=False)
    assert checkpoint.load(run)["decisions"] < 3000, "it was over before a node could die"
    ended(process)
    train(*options, "name=local")
    one, two = checkpoint.load(run), checkpoint.load(tmp_path / "local")
    assert one["decisions"] == two["decisions"] >= 3000
    assert one["sha256"] == two["sha256"]
    assert len(one["sampler"]["snapshots"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["runner=ray", "ray_address=127.0.0.1:1"], "the Ray cluster 127.0.0.1:1 cannot be reached"),
        (["runner=ray", "ray_address=here"], "ray_address is 'here'; it must be HOST:PORT"),
        (["ray_address=auto"], "add runner=ray"),
        (["runner=rai"], "did you mean ray"),
    ],
)
def test_wrong_cluster_options_are_named(tmp_path: Path, options: list[str], message: str) -> None:
    _, errors = train("profile=bottleneck", f"runs={tmp_path}", *options, status=1)
    assert message in " ".join(errors.split())
