"""runner=ray on a cluster of two nodes of this machine: the same files as local processes, also when a node dies."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from env.checkout import ROOT
from tests.support.compared import hashes

pytestmark = pytest.mark.timeout(600)
OPTIONS = ["scenario=[stress,bottleneck]", "schemes=[cubic,ndm]", "seeds=6", "duration_s=20"]


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "compare.py", *OPTIONS, *options, f"output_dir={folder}"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=400)
    assert process.returncode == 0, output
    return output


def test_two_nodes_one_of_which_dies_give_what_local_processes_give(tmp_path: Path, cluster: Any) -> None:
    finished(start(tmp_path / "local"))
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    process = start(tmp_path / "ray", "runner=ray", f"ray_address={cluster.address}")
    runs = tmp_path / "ray" / "runs"
    deadline = time.monotonic() + 200
    while len(done := list(runs.rglob("run.json"))) < 4:
        assert time.monotonic() < deadline, "no run was made on the cluster"
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    assert len(done) < 24, "all runs were made before a node could die"
    cluster.remove_node(second, allow_graceful=False)
    finished(process)
    assert len(list(runs.rglob("run.json"))) == 24
    assert not list(runs.rglob("*.error.txt"))
    assert hashes(tmp_path / "ray") == hashes(tmp_path / "local")
    summaries = [(tmp_path / name / "summary.csv").read_bytes() for name in ("ray", "local")]
    assert summaries[0] == summaries[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["runner=ray", "ray_address=127.0.0.1:1"], "the Ray cluster 127.0.0.1:1 cannot be reached"),
        (["runner=ray", "ray_address=here"], "ray_address is 'here'; it is HOST:PORT"),
        (["ray_address=auto"], "add runner=ray"),
        (["runner=ray", "jobs=2"], "jobs is for runner=local"),
        (["runner=rai"], "did you mean ray"),
    ],
)
def test_a_cluster_that_is_not_there_is_an_error_of_one_paragraph(
    tmp_path: Path, options: list[str], message: str
) -> None:
    process = start(tmp_path, *options)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 1
    assert message in output
    assert "Traceback" not in output
