"""The option `runner=`, which chooses the pool that does the jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from env.errors import UserError, suggest
from env.pool.pool import LabPool, Pool
from env.pool.ray_pool import RayPool
from env.pool.slot import BootLab

RUNNERS = ("local", "ray")


def check_runner(runner: str, ray_address: str | None) -> None:
    """Raise ValueError for a runner that does not exist, and for an address with a runner that does not use it."""
    if runner not in RUNNERS:
        hint = suggest(runner, RUNNERS, limit=1)
        raise UserError(f"runner {runner!r} is unknown{hint}The runners are {', '.join(RUNNERS)}")
    if ray_address is not None and runner != "ray":
        raise UserError(f"ray_address is {ray_address!r}, but runner is {runner}: add runner=ray")


def make_pool(
    runner: str,
    address: str | None,
    workers: int,
    boot: BootLab,
    files: Mapping[Path, str],
    own_modules: Iterable[Path] = (),
) -> Pool:
    """Return the pool of a runner, one of RUNNERS.

    address: of the cluster, as for env.pool.ray_pool.connect(). workers: number of labs on this machine; a cluster has
    one for each core. boot: returns a new lab; picklable for a cluster. files: the files that a node must have, as
    env.pool.files.lab_files() returns them. own_modules: files of modules that the user brings, which are handed over
    to the nodes. Raises UserError.
    """
    if runner == "local":
        return LabPool(workers, boot)
    return RayPool(address, boot, files, {file: file.read_bytes() for file in own_modules})
