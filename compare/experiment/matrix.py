"""Runs the matrix: what is not there yet, nothing lost when it is interrupted, one failure among many results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from compare.experiment.experiment import Experiment, Run
from compare.experiment.local_runner import Outcome
from compare.experiment.models import module_key
from compare.experiment.store import Store
from compare.experiment.worker import Task


@dataclass
class Progress:
    """How far the matrix is. seconds_run: virtual seconds simulated by this call."""

    total: int
    done: int = 0
    failed: int = 0
    seconds_run: float = 0.0
    errors: list[str] = field(default_factory=list)


class Runner(Protocol):
    """Where runs are made."""

    def results(self, tasks: Sequence[Task]) -> Generator[Outcome]:
        """Yield each task's outcome once, in any order; ends all labs when it is closed."""


def run_matrix(
    experiment: Experiment,
    store: Store,
    modules: Mapping[str, Path],
    runner: Runner,
    report: Callable[[Progress], None],
) -> Progress:
    """Make every run of the experiment that the store has not got yet; one that failed before is tried again.

    modules: scheme name to the .ko that has it, for schemes that need one. report is called after every run. On
    KeyboardInterrupt, or any error that is not a lab's, all labs are ended, what is done stays, and the exception goes
    on.
    """
    runs = experiment.runs()
    tasks = [make_task(run, experiment, modules) for run in runs if not store.is_done(run)]
    progress = Progress(total=len(runs), done=len(runs) - len(tasks))
    report(progress)
    outcomes = runner.results(tasks)
    try:
        for task, outcome in outcomes:
            run = task.run
            progress.done += 1
            if isinstance(outcome, str):
                store.save_error(run, outcome)
                progress.failed += 1
                progress.errors.append(f"{run.scenario.name}, {run.scheme.name}, seed {run.seed}: {outcome}")
            else:
                store.save_files(run, outcome)
                progress.seconds_run += run.scenario.duration_s
            report(progress)
    finally:
        outcomes.close()
    return progress


def make_task(run: Run, experiment: Experiment, modules: Mapping[str, Path]) -> Task:
    """Return the run with all that it needs; modules: as in run_matrix()."""
    schemes = experiment.schemes_of(run)
    needed = {modules[name]: experiment.binaries[module_key(name)] for name in schemes if name in modules}
    return Task(run, experiment.sample_ms, schemes, needed)
