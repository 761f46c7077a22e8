"""Makes the missing runs of the matrix and stores each when it ends, also failed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compare.experiment.experiment import Experiment, Run
from compare.experiment.models import module_key, on_kernel
from compare.experiment.run_job import Outcome, RunJob, outcomes
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


@dataclass(frozen=True)
class Labs:
    """Labs with one kernel. modules: kernel module file (.ko) by scheme name, for schemes that need one. models: model
    file by scheme name, for schemes of tcp_ndm with another model than the compiled-in one.
    """

    pool: Pool
    modules: Mapping[str, Path]
    models: Mapping[str, bytes] = field(default_factory=dict)


def run_matrix(
    experiment: Experiment, store: Store, labs: Mapping[str, Labs], report: Callable[[Progress], None]
) -> Progress:
    """Make the missing runs and those that failed before, one kernel after the other.

    labs: by the kernels of Experiment.kernels(). report: called after every run. After an exception, the store has all
    completed runs. Raises UserError.
    """
    runs = experiment.runs()
    missing = [run for run in runs if not store.is_done(run)]
    progress = Progress(total=len(runs), done=len(runs) - len(missing))
    report(progress)
    for kernel, of_kernel in labs.items():
        of_runs = [run for run in missing if run.scheme.kernel == kernel]
        jobs = [make_job(run, experiment, of_kernel.modules, of_kernel.models) for run in of_runs]
        for job, outcome in outcomes(of_kernel.pool, jobs):
            _store(job.run, outcome, store, progress)
            report(progress)
    return progress


def _store(run: Run, outcome: Outcome, store: Store, progress: Progress) -> None:
    progress.done += 1
    if isinstance(outcome, str):
        store.save_error(run, outcome)
        progress.failed += 1
        progress.errors.append(f"{run.scenario.name}, {run.scheme.name}, seed {run.seed}: {outcome}")
    else:
        store.save(run, outcome)
        progress.seconds_run += run.scenario.duration_s


def make_job(run: Run, experiment: Experiment, modules: Mapping[str, Path], models: Mapping[str, bytes]) -> RunJob:
    """Return a run's job. modules, models: as in Labs."""
    schemes = experiment.schemes_of(run)
    hashes = experiment.binaries
    needed = {
        modules[name]: hashes[on_kernel(module_key(name), run.scheme.kernel)] for name in schemes if name in modules
    }
    parameters = {modules[name]: scheme.parameters for name, scheme in schemes.items() if scheme.parameters}
    own_models = {name: models[name] for name in schemes if name in models}
    return RunJob(run, run.scenario.network, experiment.sample_ms, schemes, needed, parameters, own_models)
