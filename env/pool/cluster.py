"""A Ray cluster whose nodes run labs: how it is reached, and whether a node has the same files as this machine.

Every node needs this checkout at the same path, with the same lab kernel, modules and traffic program.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import ray
from ray.exceptions import RayError

from env.checkout import ROOT
from env.lab import LabError

CONNECT_TIMEOUT_S = 10.0
FOREVER = -1  # a task is tried again as often as its node goes


class ClusterError(LabError):
    """A cluster that cannot be reached, or a node that is not as this machine; the message says what to do."""


def connect(address: str | None) -> None:
    """Join a cluster until `ray.shutdown()`.

    address: HOST:PORT, or "auto" for the one that this machine belongs to; None starts one on this machine. Raises
    ClusterError.
    """
    if address is not None:
        _check_reachable(address)
    # Ray gives these to its processes: nothing is reported to its makers, and a worker finds this checkout
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    try:
        ray.init(
            address=address or "local",  # by None Ray joins the one that it finds here
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
        )
    except (ConnectionError, RayError, ValueError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise ClusterError(f"the Ray cluster {address} cannot be reached: {first}") from error


def cores() -> int:
    """Return how many cores the cluster has now, at least 1."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def _check_reachable(address: str) -> None:
    """Raise ClusterError when nobody answers at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise ClusterError(f"ray_address is {address!r}; it is HOST:PORT of a Ray cluster, or auto")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(f"the Ray cluster {address} cannot be reached: {error}") from error


def check_files(files: Mapping[Path, str]) -> None:
    """Raise ClusterError when this node has not these files. files: by path, the SHA-256 that each must have."""
    for file, expected in files.items():
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            there = "is another one" if file.is_file() else "is missing"
            raise ClusterError(
                f"node {socket.gethostname()}: {file} {there}; every node needs the checkout at the same path with the "
                "same build as here"
            )
