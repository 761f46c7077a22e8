"""Runs taken from another comparison, where everything that they depend on is the same.

After a new model or a change of one module, the runs of the other schemes would give the same bytes again.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from compare.experiment.experiment import Experiment, Run, fixed_schemes
from compare.experiment.models import model_key, module_key, on_kernel
from compare.experiment.store import EXPERIMENT, Store
from compare.experiment.trace_files import traces_of
from env.errors import UserError
from env.network.path import Path as NetworkPath


def reused_runs(experiment: Experiment, store: Store, folder: Path) -> int:
    """Copy the finished runs of another comparison's folder that the store lacks; return their number.

    A run is copied if scenario, scheme, seed and interval between samples are the same, and all files that it depends
    on. The oracle's runs, which depend on a search, are made anew. Raises UserError.
    """
    other = Store(folder)
    before = other.experiment()
    scenarios = {scenario.name: asdict(scenario) for scenario in before.scenarios}
    taken = 0
    for run in experiment.runs():
        same = (
            not run.scheme.is_oracle
            and before.sample_ms == experiment.sample_ms
            and scenarios.get(run.scenario.name) == asdict(run.scenario)
            and _binaries(before, run) == _binaries(experiment, run)
        )
        if same and not store.is_done(run):
            taken += store.copy(run, other)
    return taken


def check_reusable(folder: Path) -> None:
    """Raise UserError if a folder holds no comparison."""
    if not (folder / EXPERIMENT).is_file():
        raise UserError(f"reuse={folder} is not the folder of a comparison: it has no {EXPERIMENT}")


def _binaries(experiment: Experiment, run: Run) -> dict[str, str | None]:
    """Return name to hash of the files that a run depends on; None for one that the experiment does not have."""
    network = run.scenario.network
    names = ["lab kernel", "traffic program", "traffic module"]
    if isinstance(network, NetworkPath) and network.trace:
        names += ["link of a trace"]
    names += traces_of(network)
    schemes = (run.scheme.name, *fixed_schemes(run.scenario))
    names += [key(scheme) for scheme in schemes for key in (module_key, model_key)]
    names = [on_kernel(name, run.scheme.kernel) for name in names]
    return {name: experiment.binaries.get(name) for name in names}
