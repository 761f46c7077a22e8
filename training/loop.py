"""Runs one training of any learner, from its configuration to its last checkpoint, interruptions included.

A resumed run has the same result as an uninterrupted one, to the bit: the checkpoint holds the whole state of learner
and sampler, and the lab repeats the episodes that it was running.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from env.errors import UserError
from env.files import FolderInUse, locked
from env.lab import VirtualLab
from env.options import argument
from env.pool import Pool, lab_files, make_pool
from env.profile import own_rivals
from env.rollout import MODULES
from export.checkpoint import has_all_inputs, reading
from training.learner import Learner, learner_class
from training.metrics import Metric
from training.options import TrainConfig
from training.run_folder.recorder import Recorder
from training.sampling import rollout_sampler
from training.sampling.rollout_sampler import RolloutSampler, Sample

METRICS = (
    Metric("charts/decisions_per_s", "1/s", "decisions per wall second, learning included"),
    Metric("charts/virtual_speedup", "", "virtual seconds per wall second and lab, learning included"),
    Metric(
        "charts/lab_share",
        "",
        "share of the wall time that the labs were busy, mean over the labs; in the rest of the time they waited",
    ),
    Metric("charts/learner_share", "", "share of the wall time that the learner's update took, beside the labs"),
    *rollout_sampler.METRICS,
)
SUMMARY = {  # metric -> text at the end of the progress bar: 80 columns have room for the first two
    "charts/reward": "reward {:.2f}",
    "charts/goodput_mbps": "{:.1f} Mbit/s",
    "charts/queueing_delay_ms": "queueing delay {:.1f} ms",
    "charts/virtual_speedup": "{:.0f}x real time",
}


class StopRequest:
    """Ctrl-C or SIGTERM. The first one is noted, so that the run can save itself; a second one ends it at once."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """Return whether the run should end."""
        return self.requested

    def _note(self, _number: int, _frame: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    @contextlib.contextmanager
    def listen(self) -> Iterator[None]:
        """Handle both signals, and restore their previous handlers afterwards."""
        before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Stopwatch:
    """Measures how the wall time from one update to the next was spent."""

    def __init__(self, sampler: RolloutSampler) -> None:
        self._sampler = sampler
        self._restart()

    def _restart(self) -> None:
        self._began_s = self._sampled_s = time.perf_counter()
        self._seconds_before = dict(self._sampler.workers.seconds)

    def sampled(self) -> None:
        """Note that the sample is complete and the learner's update begins."""
        self._sampled_s = time.perf_counter()

    def updated(self, sample: Sample) -> dict[str, float]:
        """Note that the learner's update from this sample is complete; return the metrics of the time."""
        now_s = time.perf_counter()
        wall_s = now_s - self._began_s
        metrics = {
            "charts/decisions_per_s": sample.decisions / wall_s,
            "charts/learner_share": (now_s - self._sampled_s) / wall_s,
            "charts/virtual_speedup": sample.virtual_s / wall_s / self._sampler.workers.workers,
        }
        for activity, seconds in self._sampler.workers.seconds.items():
            metrics[f"charts/{activity}_share"] = (seconds - self._seconds_before[activity]) / wall_s
        self._restart()
        return metrics


def new_run_folder(config: TrainConfig) -> Path:
    """Return the folder of a new run, without creating it. Raises UserError when it exists."""
    name = config.name or f"{config.profile.name}-{datetime.now():%Y%m%d-%H%M%S}-s{config.seed}"
    folder = Path(config.runs) / name
    if folder.exists():
        raise UserError(
            f"{folder} exists already, and a new run would overwrite it: choose another name=, "
            f"or continue that run by {argument('resume', folder)}"
        )
    return folder


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run's folder. Raises UserError when another process trains in it."""
    try:
        with locked(folder):
            yield
    except FolderInUse:
        raise UserError(f"another process is training in {folder}; wait for it, or choose another name=") from None


def make_labs(config: TrainConfig) -> Pool:
    """Return the labs of a configuration. Raises UserError, and LabError of own rivals."""
    # each run brings its own seed
    boot = partial(VirtualLab, seed=1, memory_mb=config.lab.memory_mb, timeout_s=config.lab.timeout_s)
    own = [rival.module.file for rival in own_rivals(config.profile)]
    return make_pool(config.runner, config.ray_address, config.lab.workers, boot, lab_files(MODULES), own)


def train(config: TrainConfig, folder: Path, saved: Mapping[str, Any] | None, sampler: RolloutSampler) -> bool:
    """Train in ``folder``, from its checkpoint ``saved`` if given; returns False when stopped before the end.

    Raises UserError (the folder is in use; a full disk, and the last checkpoint is unharmed; a checkpoint that does not
    fit the options) and env.lab.LabError.
    """
    torch.set_num_threads(1)  # the networks are too small to gain from more, and the labs need the cores
    stop = StopRequest()
    learner = learner_class(config.algo.kind).build(config)
    start = argument("algo.start", folder)
    if saved is None:
        learner.begin()
        folder.mkdir(parents=True)
    else:
        if not saved["learner"]:
            raise UserError(f"{folder} is a milestone, which has no learner: begin a new run with {start}")
        if not has_all_inputs(saved):
            raise UserError(
                f"{folder} was trained before the last inputs were appended to env/schema.py, so that it cannot be "
                f"resumed: begin a new run with {start}, or resume it with commit {saved['git_revision']}"
            )
    try:
        with claimed(folder), stop.listen():
            with reading(folder):
                if saved is not None:
                    _require_work(saved, config.algo.total_decisions, start)
                    sampler.restore(saved["sampler"])
                    learner.restore(saved)
                recorder = Recorder(config, folder, saved and saved["card"], sampler.modules)
            with recorder:
                finished = _update_until_done(learner, sampler, recorder, stop)
                if finished:
                    recorder.finished()
    except Exception:
        if saved is None and not learner.progress.done:
            shutil.rmtree(folder)  # the first batch failed: nothing is left that looks like a run
        raise
    return finished


def _require_work(saved: Mapping[str, Any], total: int, start: str) -> None:
    """Raise UserError when nothing is left to train. A run that was killed after its last update may still end."""
    done, before = saved["decisions"], saved["config"]["algo"]["total_decisions"]
    if done >= total and (total != before or saved["card"]["status"] == "finished"):
        raise UserError(
            f"the run has made {done:,} of {total:,} decisions: nothing is left to train, and nothing changed. Give "
            f"a larger algo.total_decisions=, or begin a new run with {start} name=NAME"
        )


def _update_until_done(learner: Learner, sampler: RolloutSampler, recorder: Recorder, stop: StopRequest) -> bool:
    """Alternate between sampling and learning; False when stopped before the end."""

    def state() -> dict[str, Any]:
        return {**learner.state(), "sampler": sampler.state()}

    done, total = learner.progress
    if done < total:
        sampler.submit(learner.behaviour(), learner.progress.share)  # the labs boot while PyTorch loads its optimizer
    recorder.begin(state())
    stopwatch, passed = Stopwatch(sampler), recorder.milestones_at(learner.progress.share)
    with tqdm(total=total, initial=min(done, total), unit=" decisions", dynamic_ncols=True) as bar:
        while learner.progress.done < total:
            sampler.submit(learner.behaviour(), learner.progress.share)
            sample = sampler.take(stop)
            if sample is None:
                return False
            stopwatch.sampled()
            metrics = sample.metrics | learner.update(sample)
            metrics |= stopwatch.updated(sample)
            sampler.observe(learner.policy_weights)
            recorder.update(state(), metrics, sample.virtual_s)
            if (reached := recorder.milestones_at(learner.progress.share)) > passed:
                recorder.keep()
                passed = reached
            bar.update(min(learner.progress.done, total) - bar.n)
            bar.set_postfix_str(_summary(metrics), refresh=False)
            for warning in learner.warnings:
                tqdm.write(f"train.py: {warning}", file=sys.stderr)
    return True


def _summary(metrics: Mapping[str, float]) -> str:
    return ", ".join(text.format(metrics[name]) for name, text in SUMMARY.items() if name in metrics)
