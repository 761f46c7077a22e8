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
