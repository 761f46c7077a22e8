"""One training run, from its configuration to its last checkpoint: folder, progress, metrics, interruption.

Every metric written here is explained in docs/training.md.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from omegaconf import OmegaConf
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from env import ENV_ID
from env.lab import VirtualLab
from training import checkpoint
from training.config import TrainConfig
from training.ppo import Ppo, Rollout

# name in the environment's info -> name of the chart; all are means weighted by the length of the interval
MEASURED = {
    "goodput_mbps": "goodput_mbps",
    "goodput_share": "goodput_share",
    "rtt_ms": "rtt_ms",
    "queueing_delay_ms": "queueing_delay_ms",
    "loss_rate": "loss_rate",
    "cwnd": "cwnd",
}
REWARD_PARTS = ("reward/goodput", "reward/delay", "reward/loss")


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
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run's folder. Raises RunError when one is in it."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(f"another process is training in {folder}; wait for it, or choose another name=") from error
        yield


def make_env(config: TrainConfig) -> VectorEnv[Any, Any, Any]:
    """Boot the labs of a configuration; raises env.lab's LabError."""

    def boot(seed: int) -> VirtualLab:
        lab = VirtualLab(seed=seed, memory_mb=config.lab.memory_mb, timeout_s=config.lab.timeout_s)
        lab.start()
        return lab

    return gymnasium.make_vec(ENV_ID, num_envs=config.lab.workers, profile=config.profile, boot=boot)


def train(config: TrainConfig, env: VectorEnv[Any, Any, Any], folder: Path, saved: dict[str, Any] | None) -> bool:
    """Train in ``folder``, from its checkpoint ``saved`` if given; True when it came to its end, False when stopped.

    The learning rate and the exploration follow ``algo.total_decisions``, so a resumed run takes up where they were.

    Raises RunError (the folder is in use), CheckpointError (a full disk; the last checkpoint is unharmed), ValueError
    (networks that do not fit the checkpoint) and env.lab's LabError.
    """
    torch.set_num_threads(1)  # the networks are too small to gain from more, and the labs need the cores
    stop = StopRequest()
    ppo = Ppo(env, config.algo, config.seed, stop)
    if saved is None:
        folder.mkdir(parents=True)
    else:
        ppo.restore(saved)
    plain = asdict(config)
    with locked(folder), stop.listen(), _writer(folder, ppo.decisions) as writer:
        checkpoint.write_atomically(folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(plain)).encode())
        state = ppo.state()
        checkpoint.save(folder, {**state, "config": plain})
        episode_returns = EpisodeReturns(env.num_envs)
        total = config.algo.total_decisions
        bar = tqdm(total=total, initial=min(ppo.decisions, total), unit=" decisions", dynamic_ncols=True)
        updates = 0
        try:
            with bar:
                while ppo.decisions < total:
                    began = time.perf_counter()
                    rollout = ppo.collect()
                    if rollout is None:
                        break
                    played = time.perf_counter()
                    losses = ppo.update(rollout)
                    learned = time.perf_counter()
                    state = ppo.state()
                    charts = {
                        **describe(rollout, env.num_envs, learned - began),
                        "charts/learner_share": (learned - played) / (learned - began),
                        **episode_returns.follow(rollout),
                    }
                    for name, value in {**charts, **losses}.items():
                        writer.add_scalar(name, value, ppo.decisions)
                    updates += 1
                    if updates % config.checkpoint_every == 0:
                        checkpoint.save(folder, {**state, "config": plain})
                    bar.update(min(ppo.decisions, total) - bar.n)
                    bar.set_postfix_str(_summary(charts), refresh=False)
        finally:
            # Also after an error: a lab that died must not cost the updates since the last checkpoint.
            checkpoint.save(folder, {**state, "config": plain})
    return ppo.decisions >= total


def describe(rollout: Rollout, environments: int, wall_s: float) -> dict[str, float]:
    """The metrics ``charts/...`` of a rollout that took ``wall_s`` with its update."""
    infos = rollout.infos
    charts = {
        "charts/reward": float(rollout.rewards.mean()),
        "charts/decisions_per_s": rollout.rewards.size / wall_s,
    }
    for name in REWARD_PARTS:
        if name in infos:
            charts[f"charts/{name.replace('/', '_')}"] = float(np.nanmean(infos[name]))
    interval_us = infos.get("interval_us")
    if interval_us is None:
        return charts
    charts["charts/virtual_speedup"] = float(np.nansum(interval_us)) / 1e6 / wall_s / environments
    for name, chart in MEASURED.items():
        if name in infos:
            known = np.isfinite(infos[name]) & np.isfinite(interval_us)
            if known.any():
                charts[f"charts/{chart}"] = float(np.average(infos[name][known], weights=interval_us[known]))
    return charts


class EpisodeReturns:
    """Sums of rewards of whole episodes, which may span several rollouts."""

    def __init__(self, environments: int) -> None:
        self._sums = np.zeros(environments)

    def follow(self, rollout: Rollout) -> dict[str, float]:
        """Add a rollout; returns ``charts/episode_return``, the mean over the episodes that ended in it, if any did."""
        done = []
        for rows, n, ended in zip(rollout.stretches, rollout.environments, rollout.ended, strict=True):
            self._sums[n] += float(rollout.rewards[rows].sum())
            if ended:
                done.append(self._sums[n])
                self._sums[n] = 0.0
        return {"charts/episode_return": float(np.mean(done))} if done else {}


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


@contextlib.contextmanager
def _writer(folder: Path, decisions: int) -> Iterator[SummaryWriter]:
    """TensorBoard events; those of a resumed run beyond its checkpoint are dropped."""
    # from its step on, TensorBoard drops what it has read before: the checkpoint's own point stays
    writer = SummaryWriter(str(folder), purge_step=decisions + 1 if decisions else None)
    try:
        yield writer
    finally:
        try:
            writer.close()
        except OSError as error:  # the weights are safe in the checkpoint
            print(f"the last metrics could not be written to {folder}: {os.strerror(error.errno or 0)}")
