"""One training run, from its configuration to its last checkpoint: folder, progress, metrics, interruption.

Every metric written here is explained in docs/reference/metrics.md.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from env.files import FolderInUse, locked
from env.lab import VirtualLab
from env.pool import Pool, lab_files, make_pool
from env.rollout import MODULES
from env.trajectory import Trajectory
from export import checkpoint
from training.config import TrainConfig
from training.curriculum import cases
from training.curriculum.curriculum import Curriculum
from training.curriculum.snapshots import Snapshots
from training.experts.imitation import warm_start
from training.ppo import Behaviour, Ppo, PpoOptions
from training.rollouts import LabRolloutWorkers, RolloutWorkers, SamplingState
from training.run_folder.alarms import Alarms
from training.run_folder.recorder import Recorder

# of the environment's info, the means weighted by the length of the interval
MEASURED = ("goodput_mbps", "goodput_share", "rtt_ms", "queueing_delay_ms", "loss_rate", "cwnd")
OF_PARTS = ("goodput_share", "queueing_delay_ms")  # those that are told of each part of the profile, too


class RunError(Exception):
    """A run that cannot be started or carried on; the text says why and what to do."""


class StopRequest:
    """Ctrl-C or SIGTERM: noted, so that the run ends between two decisions. A second Ctrl-C ends it at once."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """Whether to end."""
        return self.requested

    def _note(self, _number: int, _frame: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    @contextlib.contextmanager
    def listen(self) -> Iterator[None]:
        """Take over both signals, and give them back."""
        before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def new_run_folder(config: TrainConfig) -> Path:
    """Return the folder of a new run, not yet made. Raises RunError when something is there already."""
    name = config.name or f"{config.profile.name}-{datetime.now():%Y%m%d-%H%M%S}-s{config.seed}"
    folder = Path(config.runs) / name
    if folder.exists():
        raise RunError(
            f"{folder} is already there, and a new run would write over it: choose another name=, "
            f"or go on with that run by resume={folder}"
        )
    return folder


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run's folder. Raises RunError when one is in it."""
    try:
        with locked(folder):
            yield
    except FolderInUse:
        raise RunError(f"another process is training in {folder}; wait for it, or choose another name=") from None


def make_workers(config: TrainConfig, pool: Pool) -> RolloutWorkers:
    """Return what makes the batches of a configuration in these labs."""
    assert isinstance(config.algo, PpoOptions)
    return LabRolloutWorkers(config.profile, pool, config.seed, config.algo.rollout_decisions)


def make_curriculum(config: TrainConfig, pool: Pool | None) -> Curriculum:
    """Return the curriculum of a configuration. pool: labs of its contests; None: no contests."""
    assert isinstance(config.algo, PpoOptions)
    contests = pool if config.curriculum.hard_share else None
    return Curriculum(config.curriculum, config.profile, config.seed, config.algo.rollout_decisions, contests)


def make_labs(config: TrainConfig) -> Pool:
    """Return the labs of a configuration. Raises env.pool.ClusterError."""
    # each run brings its own seed
    boot = partial(VirtualLab, seed=1, memory_mb=config.lab.memory_mb, timeout_s=config.lab.timeout_s)
    return make_pool(config.runner, config.ray_address, config.lab.workers, boot, lab_files(MODULES))


class Batches:
    """The batches of a training in their order, each with the policy that plays it and what it is drawn from.

    With ``overlap`` the next batch is played while one is learned from, by the policy of one update ago: always that
    one, however long either takes, so that a seed has one episode.
    """

    def __init__(self, workers: RolloutWorkers, overlap: bool) -> None:
        self._workers = workers
        self._ahead = int(overlap)
        self._next = 0  # number of the next batch
        self._begun: deque[tuple[int, Behaviour, SamplingState]] = deque()  # submitted and not yet learned from

    @property
    def taken(self) -> int:
        """How many have been taken."""
        return self._next - len(self._begun)

    def submit(self, behaviour: Behaviour, sampling_state: SamplingState) -> None:
        """Have one batch under way, or two with overlap; ``behaviour`` plays those that are not yet."""
        while len(self._begun) <= self._ahead:
            self._begun.append((self._next, behaviour, sampling_state))
            self._workers.submit(*behaviour, self._next, sampling_state)
            self._next += 1

    def take(self, should_stop: Callable[[], bool]) -> tuple[list[Trajectory], Behaviour] | None:
        """Wait for the oldest batch; None when `should_stop` said so on the way."""
        episodes = self._workers.take(should_stop)
        if episodes is None:
            return None
        _, behaviour, _ = self._begun.popleft()
        return episodes, behaviour

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs: a batch that is under way is played again, which gives the same episodes."""
        begun = [
            {"batch": batch, **behaviour._asdict(), "sampling_state": sampling_state.as_dict()}
            for batch, behaviour, sampling_state in self._begun
        ]
        return {"next": self._next, "begun": begun}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self._next = state["next"]
        for entry in state["begun"]:
            behaviour = Behaviour(entry["policy"], entry["log_std"])
            # a run of before there were curricula has none
            sampling_state = (
                SamplingState.from_dict(entry["sampling_state"]) if "sampling_state" in entry else SamplingState()
            )
            self._begun.append((entry["batch"], behaviour, sampling_state))
            self._workers.submit(*behaviour, entry["batch"], sampling_state)


class Clock:
    """Where the wall time between the ends of two updates went."""

    def __init__(self, workers: RolloutWorkers) -> None:
        self._workers = workers
        self._begin()

    def _begin(self) -> None:
        self._began = self._taken = time.perf_counter()
        self._before = dict(self._workers.seconds)

    def taken(self) -> None:
        """A batch has come; the learner begins."""
        self._taken = time.perf_counter()

    def learned(self, episodes: Sequence[Trajectory]) -> dict[str, float]:
        """The learner is done with these episodes; returns the metrics of the time."""
        now = time.perf_counter()
        wall_s = now - self._began
        metrics = {
            "charts/decisions_per_s": sum(len(episode.rewards) for episode in episodes) / wall_s,
            "charts/learner_share": (now - self._taken) / wall_s,
        }
        for name, seconds in self._workers.seconds.items():
            metrics[f"charts/{name}_share"] = (seconds - self._before[name]) / wall_s
        if virtual := virtual_s(episodes):
            metrics["charts/virtual_speedup"] = virtual / wall_s / self._workers.workers
        self._begin()
        return metrics


def train(
    config: TrainConfig, workers: RolloutWorkers, folder: Path, saved: dict[str, Any] | None, pool: Pool | None = None
) -> bool:
    """Train in ``folder``, from its checkpoint ``saved`` if given; True when it came to its end, False when stopped.

    ``pool``: labs of a curriculum's contests; None: no contests.

    A resumed run is the one that was not interrupted, to the bit: what was being played or learned is repeated. The
    learning rate and the exploration follow ``algo.total_decisions``, so they take up where they were.

    Raises RunError (the folder is in use), CheckpointError (a full disk; the last checkpoint is unharmed), ValueError
    (networks that do not fit the checkpoint) and env.lab's LabError.
    """
    assert isinstance(config.algo, PpoOptions)
    torch.set_num_threads(1)  # the networks are too small to gain from more, and the labs need the cores
    stop = StopRequest()
    ppo = Ppo(config.algo, config.seed, workers.privileged)
    if saved is None:
        if config.algo.imitate:
            warm_start(ppo.policy, config.algo, config.profile.reward, config.seed)
        if config.algo.start:
            ppo.begin_with(checkpoint.load(Path(config.algo.start)))
        folder.mkdir(parents=True)
    with claimed(folder), stop.listen():
        batches = Batches(workers, config.algo.overlap)
        snapshots = Snapshots(config.profile, config.algo.snapshot_every, config.algo.snapshots)
        curriculum = make_curriculum(config, pool)
        if saved is not None:
            ppo.restore(saved)
            batches.restore(saved["batches"])
            snapshots.restore(saved["batches"].get("snapshots", []))
            if "curriculum" in saved["batches"]:
                curriculum.restore(saved["batches"]["curriculum"])
        cases.keep_until(folder, batches.taken)

        def state() -> dict[str, Any]:
            drawn_from = {"snapshots": snapshots.state(), "curriculum": curriculum.state()}
            return {**ppo.state(), "batches": {**batches.state(), **drawn_from}}

        total = config.algo.total_decisions
        alarms = Alarms(config.algo.minimum_std)
        with Recorder(config, folder, None if saved is None else saved["card"]) as recorder:
            recorder.begin(state())
            clock = Clock(workers)
            with tqdm(total=total, initial=min(ppo.decisions, total), unit=" decisions", dynamic_ncols=True) as bar:
                while ppo.decisions < total:
                    batches.submit(ppo.behaviour(), curriculum.sampling_state(ppo.done, snapshots.files))
                    taken = batches.take(stop)
                    if taken is None:
                        return False
                    clock.taken()
                    metrics = describe(taken[0]) | ppo.update(*taken)
                    metrics |= clock.learned(taken[0]) | alarms.follow(metrics)
                    policy = ppo.behaviour().policy
                    snapshots.follow(batches.taken, policy)
                    chosen = curriculum.follow(batches.taken, policy, snapshots.files, stop)
                    if chosen is None:
                        return False
                    cases.append(folder, batches.taken, curriculum.promoted)
                    hard = [case.told() for case in curriculum.hard]
                    recorder.follow(state(), metrics | chosen, virtual_s(taken[0]), hard)
                    bar.update(min(ppo.decisions, total) - bar.n)
                    bar.set_postfix_str(_summary(metrics), refresh=False)
                    for warning in alarms.warnings:
                        tqdm.write(f"train.py: {warning}", file=sys.stderr)
            recorder.finished()
    return True


def describe(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """The metrics ``charts/...`` of the episodes of a batch, as the environment measured them."""
    rewards = np.concatenate([episode.rewards for episode in episodes])
    charts = {
        "charts/reward": float(rewards.mean()),
        "charts/episode_return": float(np.mean([episode.rewards.sum() for episode in episodes])),
    }
    infos = _joined(episodes)
    for name in infos:
        if name.startswith("reward/"):
            charts[f"charts/{name.replace('/', '_')}"] = float(infos[name].mean())
    charts |= {f"charts/{name}": mean for name, mean in _means(infos, MEASURED).items()}
    for part in sorted({episode.component for episode in episodes} - {""}):
        own = [episode for episode in episodes if episode.component == part]
        charts[f"parts/{part}/reward"] = float(np.concatenate([episode.rewards for episode in own]).mean())
        charts |= {f"parts/{part}/{name}": mean for name, mean in _means(_joined(own), OF_PARTS).items()}
    return charts


def _joined(episodes: Sequence[Trajectory]) -> dict[str, np.ndarray]:
    """What was measured in all of the episodes, by name, one behind the other."""
    names = set.intersection(*(set(episode.infos) for episode in episodes))
    return {name: np.concatenate([episode.infos[name] for episode in episodes]) for name in sorted(names)}


def _means(infos: dict[str, np.ndarray], names: Sequence[str]) -> dict[str, float]:
    """Means weighted by the length of the interval, of those that are there."""
    if "interval_us" not in infos:
        return {}
    return {name: float(np.average(infos[name], weights=infos["interval_us"])) for name in names if name in infos}


def virtual_s(episodes: Sequence[Trajectory]) -> float:
    """Seconds of virtual time in episodes; 0 where the environment says nothing of time."""
    return (
        sum(float(episode.infos["interval_us"].sum()) for episode in episodes if "interval_us" in episode.infos) / 1e6
    )


def _summary(charts: dict[str, float]) -> str:
    """The right end of the progress bar."""
    parts = (
        ("virtual_speedup", "{:.0f}x real time"),
        ("episode_return", "return {:.1f}"),
        ("reward", "reward {:.3f}"),
        ("goodput_mbps", "goodput {:.1f} Mbit/s"),
        ("queueing_delay_ms", "queueing delay {:.1f} ms"),
    )
    return ", ".join(text.format(charts[f"charts/{name}"]) for name, text in parts if f"charts/{name}" in charts)
