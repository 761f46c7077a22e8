"""Makes the missing runs of the matrix and stores each when it ends, also failed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compare.experiment.experiment import Experiment, Run
from compare.experiment.models import module_key
from compare.experiment.run_job import RunJob, outcomes
from compare.experiment.store import Store
from env.pool import Pool


@dataclass
class Progress:
    """The progress of the matrix. seconds_run: virtual seconds of this call's runs."""

    total: int
    done: int = 0
    failed: int = 0
    seconds_run: float = 0.0
    errors: list[str] = field(default_factory=list)


def run_matrix(
    experiment: Experiment,
    store: Store,
    modules: Mapping[str, Path],
    pool: Pool,
    report: Callable[[Progress], None],
) -> Progress:
    """Make the missing runs and those that failed before.

    modules: kernel module file (.ko) by scheme name, for schemes that need one. report: called after every run. After
    an exception, the store has all completed runs. Raises CompareError.
    """
    runs = experiment.runs()
    jobs = [make_job(run, experiment, modules) for run in runs if not store.is_done(run)]
    progress = Progress(total=len(runs), done=len(runs) - len(jobs))
    report(progress)
    for job, outcome in outcomes(pool, jobs):
        run = job.run
        progress.done += 1
        if isinstance(outcome, str):
            store.save_error(run, outcome)
            progress.failed += 1
            progress.errors.append(f"{run.scenario.name}, {run.scheme.name}, seed {run.seed}: {outcome}")
        else:
            store.save(run, outcome)
            progress.seconds_run += run.scenario.duration_s
        report(progress)
    return progress


def make_job(run: Run, experiment: Experiment, modules: Mapping[str, Path]) -> RunJob:
    """Return a run's job. modules: as in run_matrix()."""
    schemes = experiment.schemes_of(run)
    needed = {modules[name]: experiment.binaries[module_key(name)] for name in schemes if name in modules}
    return RunJob(run, run.scenario.network(), experiment.sample_ms, schemes, needed)
