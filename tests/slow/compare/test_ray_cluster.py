"""compare.py runner=ray on a cluster of two nodes: the same files as local processes, also when a node dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import compare, ended, hashes, start, wait_until

pytestmark = pytest.mark.timeout(600)
OPTIONS = ["scenario=[stress,bottleneck]", "schemes=[cubic,ndm]", "seeds=6", "duration_s=20"]


def test_dying_node_leaves_the_files_the_same(tmp_path: Path, cluster: Any) -> None:
    compare(*OPTIONS, f"output_dir={tmp_path / 'local'}")
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    on_ray = ["runner=ray", f"ray_address={cluster.address}", f"output_dir={tmp_path / 'ray'}"]
    process = start("compare.py", *OPTIONS, *on_ray)
    runs = tmp_path / "ray" / "runs"
    wait_until(process, lambda: len(list(runs.rglob("run.json"))) >= 4, "the cluster made no runs")
    assert len(list(runs.rglob("run.json"))) < 24, "all runs were made before a node could die"
    cluster.remove_node(second, allow_graceful=False)
    ended(process)
    assert len(list(runs.rglob("run.json"))) == 24
    assert not list(runs.rglob("*.error.txt"))
    assert hashes(tmp_path / "ray") == hashes(tmp_path / "local")
    summaries = [(tmp_path / name / "summary.csv").read_bytes() for name in ("ray", "local")]
    assert summaries[0] == summaries[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["runner=ray", "ray_address=127.0.0.1:1"], "the Ray cluster 127.0.0.1:1 cannot be reached"),
        (["runner=ray", "ray_address=here"], "ray_address is 'here'; it must be HOST:PORT"),
        (["ray_address=auto"], "add runner=ray"),
        (["runner=ray", "jobs=2"], "jobs is for runner=local"),
        (["runner=rai"], "did you mean ray"),
    ],
)
def test_wrong_cluster_options_are_named(tmp_path: Path, options: list[str], message: str) -> None:
    assert message in compare(*OPTIONS, *options, f"output_dir={tmp_path}", status=1)[1]
