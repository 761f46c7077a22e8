"""Runs tasks in labs of a Ray cluster: each core of each node makes one run after the other in a lab that it keeps.

A task whose node has gone is made again on another one by Ray, and a run depends on nothing but itself: the results are
those of LocalRunner, each is given once, whatever dies meanwhile. Every node needs this checkout at the same path, with
the same lab kernel, modules and traffic program; a node that has others is refused by their hashes.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Generator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from compare.errors import CompareError
from compare.local import Outcome
from compare.models import sha256
from compare.run_files import pack
from compare.worker import Task, Worker
from env.lab import LabError
from env.lab.virtual import ROOT

WAITING_PER_CORE = 3  # tasks handed to Ray ahead of time, for each core: enough that none waits for the driver
CONNECT_TIMEOUT_S = 10.0
_FOREVER = -1  # a task is tried again as often as its node goes


class RayRunner:
    """The runs of a matrix on a cluster.

    address: of a running cluster (HOST:PORT, or "auto" for the one that this machine belongs to); None starts one on
    this machine for the time of the runs. files: what every node must have, with its SHA-256.
    """

    def __init__(self, address: str | None, files: Mapping[Path, str]) -> None:
        self._address = address
        self._files = dict(files)

    def results(self, tasks: Sequence[Task]) -> Generator[Outcome]:
        """Yield outcomes as they come; raises CompareError for a cluster that cannot be reached or has other files."""
        if not tasks:
            return
        if self._address is not None:
            _check_reachable(self._address)
        # Ray gives these to its processes: nothing is reported to its makers, and a worker finds this checkout
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        try:
            ray.init(
                address=self._address,
                include_dashboard=False if self._address is None else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
            )
        except (ConnectionError, RayError, ValueError, RuntimeError) as error:
            first = str(error).strip().splitlines()[0]
            raise CompareError(f"the Ray cluster {self._address} cannot be reached: {first}") from error
        try:
            yield from self._results(tasks)
        finally:
            ray.shutdown()

    def _results(self, tasks: Sequence[Task]) -> Generator[Outcome]:
        make = ray.remote(num_cpus=1, max_retries=_FOREVER)(_make)
        files = ray.put(self._files)
        rest = iter(tasks)
        waiting: dict[ray.ObjectRef[Any], Task] = {}
        while True:
            room = WAITING_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(waiting)
            for task in islice(rest, max(0, room)):
                waiting[make.remote(task, files)] = task
            if not waiting:
                return
            finished, _ = ray.wait(list(waiting), num_returns=1)
            for reference in finished:
                kind, outcome = ray.get(reference)
                if kind == "refused":
                    raise CompareError(outcome)
                yield waiting.pop(reference), outcome


def _check_reachable(address: str) -> None:
    """Raise CompareError when nobody answers at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise CompareError(f"ray_address is {address!r}; it is HOST:PORT of a Ray cluster, or auto")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise CompareError(f"the Ray cluster {address} cannot be reached: {error}") from error


_worker: Worker | None = None  # of this process of the cluster: Ray gives it one task at a time


def _make(task: Task, files: dict[Path, str]) -> tuple[str, dict[str, bytes] | str]:
    """Make a run on a node. Returns ("done", files or what the lab said) or ("refused", why this node cannot)."""
    global _worker
    if _worker is None:
        for file, expected in files.items():
            if not file.is_file() or sha256(file) != expected:
                there = "is another one" if file.is_file() else "is missing"
                return "refused", (
                    f"node {socket.gethostname()}: {file} {there}; every node needs the checkout at the same path with "
                    f"the same build as here"
                )
        _worker = Worker()
    try:
        return "done", pack(_worker.make(task))
    except LabError as error:
        return "done", str(error)
    except CompareError as error:
        return "refused", str(error)
