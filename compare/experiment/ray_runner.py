"""Runs tasks in labs of a Ray cluster: each core of each node makes one run after the other in a lab that it keeps.

A task whose node has gone is made again on another one by Ray, and a run depends on nothing but itself: the results are
those of LocalRunner, each is given once, whatever dies meanwhile. A node that has other files is refused by their
hashes: env/pool/cluster.py.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import ray

from compare.errors import CompareError
from compare.experiment.local_runner import Outcome
from compare.experiment.run_files import pack
from compare.experiment.worker import Task, Worker
from env.lab import LabError
from env.pool.cluster import FOREVER, ClusterError, check_files, connect, cores

WAITING_PER_CORE = 3  # tasks handed to Ray ahead of time, for each core: enough that none waits for the driver


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
        try:
            connect(self._address)
        except ClusterError as error:
            raise CompareError(str(error)) from error
        try:
            yield from self._results(tasks)
        finally:
            ray.shutdown()

    def _results(self, tasks: Sequence[Task]) -> Generator[Outcome]:
        make = ray.remote(num_cpus=1, max_retries=FOREVER)(_make)
        files = ray.put(self._files)
        rest = iter(tasks)
        waiting: dict[ray.ObjectRef[Any], Task] = {}
        while True:
            room = WAITING_PER_CORE * cores() - len(waiting)
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


_worker: Worker | None = None  # of this process of the cluster: Ray gives it one task at a time


def _make(task: Task, files: dict[Path, str]) -> tuple[str, dict[str, bytes] | str]:
    """Make a run on a node. Returns ("done", files or what the lab said) or ("refused", why this node cannot)."""
    global _worker
    if _worker is None:
        try:
            check_files(files)
        except ClusterError as error:
            return "refused", str(error)
        _worker = Worker()
    try:
        return "done", pack(_worker.make(task))
    except LabError as error:
        return "done", str(error)
    except CompareError as error:
        return "refused", str(error)
