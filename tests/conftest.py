"""For all tests."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# Other work on the machine must not fail a test.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture
def only_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Of pytest's workers one at a time has a cluster: there is one that ray_address=auto means, and one that plays."""
    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def cluster(only_cluster: None) -> Iterator[Any]:
    """A Ray cluster of this machine: a head of one core, to which nodes can be added."""
    pytest.importorskip("ray", reason="run `make ray`")
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield found
    finally:
        found.shutdown()
