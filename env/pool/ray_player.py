"""Plays episodes in the labs of a Ray cluster: env.rollout.Player, one lab on each core of each node.

An episode is a pure function of its task, so it does not matter where it is played, nor how often: one whose node or
worker has gone is played again elsewhere, and the trajectories are those of this machine's labs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ray

from env import expert as expert
from env.lab import Lab, VirtualLab
from env.lab.lab import PROGRAM
from env.lab.virtual import KERNEL, MODULES
from env.pool.cluster import FOREVER, check_files, connect, cores
from env.profile import RIVALS
from env.reward import RewardWeights
from env.rollout import Played, Task, Worker, longest_first

LAB_MODULES = ("tcp_ndm_gym", "lab_gate", "sch_linktrace", expert.MODULE, *filter(None, RIVALS.values()))
LAB_FILES = (KERNEL, *(MODULES / f"{name}.ko" for name in LAB_MODULES), PROGRAM)


class RayPlayer:
    """Labs of a cluster. address: as for env.pool.cluster.connect.

    weights: of the reward, where an episode has none of its own. lab_options: of each VirtualLab, besides its seed.
    Raises env.pool.cluster.ClusterError.
    """

    def __init__(self, address: str | None, weights: RewardWeights, lab_options: Mapping[str, Any]) -> None:
        connect(address)
        files = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in LAB_FILES if file.is_file()}
        self._common = ray.put((weights, dict(lab_options), files))
        self._remote = ray.remote(num_cpus=1, max_retries=FOREVER)(_play)
        self.workers = cores()
        self.busy_s = 0.0  # wall seconds of playing, of what has been handed back, summed over the workers

    def submit(self, model: bytes, tasks: Sequence[Task]) -> list[Future[Played]]:
        """Have the episodes played; the longest begin first. Returns one future for each, in the order of the tasks.

        A future raises env.lab.LabError when the lab fails again and again.
        """
        shared = ray.put(model)
        futures: dict[int, Future[Played]] = {}
        for i in longest_first(tasks):
            futures[i] = self._handed_over(self._remote.remote(shared, tasks[i], self._common).future())
        return [futures[i] for i in range(len(tasks))]

    def _handed_over(self, playing: Future[Played]) -> Future[Played]:
        played: Future[Played] = Future()

        def hand_over(ended: Future[Played]) -> None:
            error = ended.exception()
            if error is not None:
                played.set_exception(error)
                return
            self.busy_s += ended.result().busy_s
            played.set_result(ended.result())

        playing.add_done_callback(hand_over)
        return played

    def close(self) -> None:
        """Leave the cluster; episodes that have not ended are dropped. Safe to call twice."""
        ray.shutdown()


_worker: Worker | None = None  # of this process of the cluster: Ray gives it one task at a time


def _play(model: bytes, task: Task, common: tuple[RewardWeights, dict[str, Any], dict[Path, str]]) -> Played:
    """Play an episode on a node."""
    global _worker
    weights, lab_options, files = common
    began = time.perf_counter()
    if _worker is None:

        def boot(seed: int) -> Lab:
            check_files(files)
            lab = VirtualLab(seed=seed, **lab_options)
            lab.start()
            return lab

        _worker = Worker(boot, weights)
    return Played(_worker.play(model, task), time.perf_counter() - began)
