"""The option `runner=`: where jobs are done, and the pool that does them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from env.near import did_you_mean
from env.pool.pool import LabPool, Pool
from env.pool.slot import BootLab

RUNNERS = ("local", "ray")


def check_runner(runner: str, ray_address: str | None) -> None:
    """Raise ValueError for a runner that does not exist, or an address without one that uses it."""
    if runner not in RUNNERS:
        hint = did_you_mean(runner, RUNNERS, most=1)
        raise ValueError(f"runner is {runner!r}: {hint}It is one of {', '.join(RUNNERS)}")
    if ray_address is not None and runner != "ray":
        raise ValueError(f"ray_address is {ray_address!r}, but runner is {runner}: add runner=ray")


def make_pool(runner: str, address: str | None, workers: int, boot: BootLab, files: Mapping[Path, str]) -> Pool:
    """Return the labs of the option `runner=`, one of RUNNERS.

    boot: returns a new lab; for a cluster it is picklable. workers: labs of this machine; a cluster has one for each
    core. address: of the cluster, as for env.pool.ray_pool.connect(). files: by path, the SHA-256 of each file that a
    node must have, as env.pool.files.lab_files() returns them. Raises ClusterError.
    """
    if runner == "local":
        return LabPool(workers, boot)
    from env.pool.ray_pool import RayPool  # the import takes a second, and only a cluster needs it

    return RayPool(address, boot, files)
