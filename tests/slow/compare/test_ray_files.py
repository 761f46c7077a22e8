"""A cluster's node that lacks the user's files: traces and congestion controls are handed over to it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from env.checkout import ROOT, cache_folder
from export import checkpoint
from tests.support.commands import SMALL, compare, hashes, train

pytestmark = [pytest.mark.timeout(900), pytest.mark.parametrize("cluster", [0], indirect=True)]
AIMD = ROOT / "tests" / "support" / "own" / "tcp_aimd.c"
RAY = "import sys; from ray.scripts.scripts import main; sys.exit(main())"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder of the user with a trace, a delay trace and a congestion control."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "link.trace").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    (folder / "path.delay").write_text("".join(f"{10 + number % 7}\n" for number in range(100)))
    shutil.copy(AIMD, folder)
    return folder


@pytest.fixture
def on_ray(mine: Path, cluster: Any) -> Iterator[list[str]]:
    """The options of a cluster whose only core is that of a node with other files.

    In its mount namespace, the user's folder and the cache of built congestion controls are empty. On a busy machine
    Ray's own processes may end while they start, and the node with them: then it starts again, twice at most.
    """
    import ray

    cache = cache_folder("schemes")
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", RAY, "start", f"--address={cluster.address}", "--num-cpus=1", "--block"]
    hide = " && ".join(f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}" for folder in (mine, cache))
    start = ["unshare", "--mount", "--map-root-user", "sh", "-c", f"{hide} && exec {shlex.join(command)}"]
    log = (mine.parent / "node.log").open("w+")
    node = subprocess.Popen(start, stdout=log, stderr=subprocess.STDOUT)
    starts = 1
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        deadline = time.monotonic() + 120
        while not ray.cluster_resources().get("CPU"):
            if node.poll() is not None:
                assert starts < 3, f"the node ended: {Path(log.name).read_text()}"
                node = subprocess.Popen(start, stdout=log, stderr=subprocess.STDOUT)
                starts += 1
            assert time.monotonic() < deadline, f"the node did not join: {Path(log.name).read_text()}"
            time.sleep(0.2)
        seen = ray.get(ray.remote(lambda: sorted(map(str, [*mine.iterdir(), *cache.iterdir()]))).remote())
        ray.shutdown()
        assert seen == [], "the node has the user's files"
        yield ["runner=ray", f"ray_address={cluster.address}"]
    finally:
        ray.shutdown()
        node.terminate()
        node.wait(60)
        log.close()


def test_runs_have_the_users_traces_and_congestion_control(tmp_path: Path, mine: Path, on_ray: list[str]) -> None:
    traces = [f"path.trace={mine / 'link.trace'},held_out/wifi", f"path.delay_trace={mine / 'path.delay'}"]
    schemes = f"schemes=[own@{mine / 'tcp_aimd.c'}+beta:900,cubic]"
    options = ["scenario=access/lte", *traces, "path.rtt_ms=null", schemes, "seeds=1", "duration_s=5"]
    compare(*options, *on_ray, f"output_dir={tmp_path / 'ray'}")
    compare(*options, f"output_dir={tmp_path / 'local'}")
    assert len(list((tmp_path / "ray").rglob("run.json"))) == 4
    assert hashes(tmp_path / "ray") == hashes(tmp_path / "local")


def test_training_has_the_users_rival(tmp_path: Path, mine: Path, on_ray: list[str]) -> None:
    own = f"mine@{mine / 'tcp_aimd.c'}"
    options = [*SMALL, "profile=fair", f"profile.paths.beside.rivals=[{own}]", "profile.paths.beside.weight=9"]
    options += ["algo.total_decisions=600", f"runs={tmp_path}"]
    train(*options, *on_ray, "name=ray")
    train(*options, "name=local")
    assert checkpoint.load(tmp_path / "ray")["sha256"] == checkpoint.load(tmp_path / "local")["sha256"]
