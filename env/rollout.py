"""Plays whole episodes with the policy in the lab's kernel: what a training learns from, at the lab's full speed.

An episode is a pure function: the same model, snapshot, noise, configuration and seed give the same trajectories, to
the byte, in whichever lab it runs. An interrupted episode is replayed with the same result.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from env.episode import BootLab
from env.expert import Expert
from env.flows import GRACE_S, SCHEME, learner_flows, rival_flows
from env.lab import GuestDied, GuestFailed, GuestHung, Lab, LabError, Play, Record
from env.network.path import PACKET_BYTES, Path
from env.profile import EpisodeConfig
from env.reward import RewardWeights
from env.trajectory import Trajectory, trajectories

LOST_WINDOWS = 3  # times what path and buffer hold
SMALL_WINDOW = 200  # packets: nothing is slow up to here
TRIES = 3  # a lab that dies is booted anew, and its episode played again


class Task(NamedTuple):
    """An episode to be played. seed: of the network's randomness.

    noise: int16 [learner, decision, action], schema.ACTION_FRAC fraction bits. It ends after so many decisions of all
    learners together, or duration_s, virtual. expert: has the learners' places, and they are measured as the policy
    would be. snapshot: the model file of the rivals that are one, needed where the episode has any. started: learners,
    from 0 as they open, that have their start behind them with the first decision.
    """

    episode_config: EpisodeConfig
    seed: int
    noise: npt.NDArray[np.int16]
    decisions: int
    duration_s: float
    expert: Expert | None = None
    snapshot: bytes = b""
    started: tuple[int, ...] = ()


class Played(NamedTuple):
    """What came of an episode, and the wall seconds that a lab took for it, its boot included."""

    episodes: list[Trajectory]
    busy_s: float


class Player:
    """Labs that play episodes side by side, one thread each; a lab boots when its first episode comes.

    workers: how many. boot: makes a lab from a seed. weights: of the reward, where an episode has none of its own.
    """

    def __init__(self, workers: int, boot: BootLab, weights: RewardWeights) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.workers = workers
        self._boot = boot
        self._weights = weights
        self._busy = threading.Lock()  # of the next two
        self._played_s = 0.0
        self._begun: dict[int, float] = {}  # thread to when it began the episode that it plays
        self._own = threading.local()
        self._labs: list[Lab] = []
        self._closed = False
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="lab")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, model: bytes, tasks: Sequence[Task]) -> list[Future[Played]]:
        """Have the episodes played; the longest begin first. Returns one future for each, in the order of the tasks.

        A future raises env.lab.LabError when the lab fails again and again.
        """
        futures: dict[int, Future[Played]] = {}
        for i in longest_first(tasks):
            futures[i] = self._executor.submit(self._play, model, tasks[i])
        return [futures[i] for i in range(len(tasks))]

    @property
    def busy_s(self) -> float:
        """Wall seconds of playing so far, boots included, summed over the workers."""
        now = time.perf_counter()
        with self._busy:
            return self._played_s + sum(now - began for began in self._begun.values())

    def close(self) -> None:
        """End the labs; episodes that have not ended are dropped. Safe to call twice."""
        self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)
        for lab in self._labs:
            lab.close()
        self._executor.shutdown(wait=True)

    def _play(self, model: bytes, task: Task) -> Played:
        thread = threading.get_ident()
        began = time.perf_counter()
        with self._busy:
            self._begun[thread] = began
        try:
            episodes = self._worker().play(model, task)
        finally:
            busy_s = time.perf_counter() - began
            with self._busy:
                self._played_s += busy_s
                del self._begun[thread]
        return Played(episodes, busy_s)

    def _worker(self) -> Worker:
        worker: Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker(self._boot_one, self._weights)
        return worker

    def _boot_one(self, seed: int) -> Lab:
        if self._closed:  # what a lab's end does to its episode is no reason to boot another
            raise LabError("the player was closed")
        lab = self._boot(seed)
        self._labs.append(lab)
        return lab


class Worker:
    """Plays one episode after the other in a lab of its own, which is booted anew when it fails.

    boot: makes a lab from a seed. weights: of the reward, where an episode has none of its own.
    """

    def __init__(self, boot: BootLab, weights: RewardWeights) -> None:
        self._boot = boot
        self._weights = weights
        self._lab: Lab | None = None

    def play(self, model: bytes, task: Task) -> list[Trajectory]:
        """Play an episode. Raises env.lab.LabError when the lab fails again and again."""
        for left in reversed(range(TRIES)):
            lab = self._lab = self._lab or self._boot(1)  # each run brings its own seed
            try:
                return trajectories(play(lab, model, task), task.episode_config, self._weights)
            except (GuestDied, GuestFailed, GuestHung):  # failed: a lab that has run for hours may have lost a program
                lab.close()
                self._lab = None
                if not left:
                    raise
        raise AssertionError  # the last try returns or raises


def play(lab: Lab, model: bytes, task: Task) -> npt.NDArray[np.void]:
    """Play one episode and return its record, rows of schema.STEP_DTYPE. Raises env.lab.LabError.

    model: of the policy; where there is a expert it is not listened to.
    """
    episode_config = task.episode_config
    if episode_config.has_snapshot and not task.snapshot:
        raise ValueError("the episode_config has a snapshot among its rivals, but the task brings no model for it")
    # the player ends the run; only flows that stall end by themselves
    end_s = task.duration_s + GRACE_S + max((flow.start_s for flow in episode_config.other_flows), default=0.0)
    learners = learner_flows(episode_config, task.expert.watched if task.expert else SCHEME, end_s)
    for module in episode_config.modules:
        lab.load(module)
    if task.expert:
        task.expert.register(lab)
    # one observation more than decisions: the last one follows the last decision
    steps = task.decisions + len(learners)
    most = most_cwnd(episode_config.path)
    asked = Play(model, task.noise, steps, task.duration_s, most, task.snapshot, task.started)
    lab.begin_run(
        episode_config.path, [*learners, *rival_flows(episode_config, end_s)], end_s, seed=task.seed, play=asked
    )
    record, reply = lab.receive(), lab.receive()
    if not isinstance(record, Record):
        raise LabError(f"a lab that was to play answered with {reply!r}")
    return record.steps


def most_cwnd(path: Path) -> int:
    """Return the window, packets, beyond which an episode goes no further.

    Several times what path and buffer hold: nearly all of it is lost, there is nothing more to learn, and the kernel
    takes minutes for such a recovery, which looks at every packet that is out for each one that is acknowledged.
    """
    if path.topology == "loopback":
        return (1 << 32) - 1
    rates = [path.rate_mbps, *(step.rate_mbps for step in path.steps if step.rate_mbps)]
    bdp = max(rates) * 1e3 / 8 * max(path.rtt_ms + max(path.client_extra_rtt_ms, default=0.0), path.reference_rtt_ms)
    return LOST_WINDOWS * (math.ceil(bdp / PACKET_BYTES) + path.buffer_packets) + SMALL_WINDOW


def longest_first(tasks: Sequence[Task]) -> list[int]:
    """Return the numbers of the tasks, those first that take the most packets, about."""

    def packets(i: int) -> float:
        task, path = tasks[i], tasks[i].episode_config.path
        seconds = min(task.duration_s, task.decisions / len(task.episode_config.learners) * max(path.rtt_ms, 1.0) / 1e3)
        return seconds * path.rate_mbps

    return sorted(range(len(tasks)), key=packets, reverse=True)
