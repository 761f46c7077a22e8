"""For all tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
# The tests have modules of their own, with the shipped model: what the user exports is none of theirs.
os.environ["NDM_MODEL_BUILD"] = str(ROOT / "build" / "test")

# Other work on the machine must not fail a test.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    """Bring the tests' modules up to date where there is a lab kernel; the other processes of -n wait for it."""
    manifest = Path("build", "lab-kernel", "manifest.json")
    if config.option.collectonly or hasattr(config, "workerinput") or not (ROOT / manifest).is_file():
        return
    make = ["make", "-s", "-o", str(manifest), "module", "KDIR=", "MODELS="]
    with (ROOT / "build" / "test.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.exit(f"the modules for the tests cannot be built:\n{done.stdout}{done.stderr}", returncode=1)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Ray cluster of this machine: a head of one core, to which nodes can be added; one pytest worker has it."""
    pytest.importorskip("ray", reason="run `make ray`")
    from ray.cluster_utils import Cluster

    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            yield found
        finally:
            found.shutdown()
