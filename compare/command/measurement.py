"""Makes the runs of an experiment: finds the modules and models, makes the missing runs, reads all runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from compare.command import environment
from compare.command.progress import shown_progress
from compare.experiment.config import CompareConfig, jobs
from compare.experiment.experiment import Experiment
from compare.experiment.labs import LabKind, lab_kind
from compare.experiment.matrix import Labs, Progress, run_matrix
from compare.experiment.models import binaries, find_models, find_modules, module_key, on_kernel
from compare.experiment.oracle import find_windows, first_cost
from compare.experiment.own import build_own, check_together
from compare.experiment.reuse import check_reusable, reused_runs
from compare.experiment.store import Store
from compare.metrics.cells import Cell, read_cells
from env.lab.kernels import LAB
from env.lab.lab import PROGRAM
from env.pool import make_pool


class Interrupted(Exception):
    """The user stopped the comparison; the message says how many runs are kept and how to resume."""


@dataclass(frozen=True)
class CompletedRuns:
    """The runs of an experiment, from earlier calls too. wall_s: wall time of the runs of this call."""

    experiment: Experiment
    store: Store
    cells: list[Cell]
    progress: Progress
    wall_s: float

    def print_cost(self, console: Console) -> None:
        """Print the first errors and the virtual and wall time of the runs."""
        for error in self.progress.errors[:3]:
            console.print(f"failed: {error}", style="red", markup=False)
        if len(self.progress.errors) > 3:
            console.print(f"and {len(self.progress.errors) - 3} more; see the report", style="red")
        if self.progress.seconds_run:
            virtual_s, speed = self.progress.seconds_run, self.progress.seconds_run / self.wall_s
            times = f"{speed:.{0 if speed >= 10 else 1}f} times real time"
            console.print(
                f"{virtual_s:.0f} virtual seconds in {self.wall_s:.0f} s of wall time ({times})", highlight=False
            )


class Measurement:
    """An experiment, with the hashes of its binaries, and the files that its runs need.

    reuse: folder of another comparison, from which unchanged runs are taken.

    Raises UserError for a lab, a module or a model that is missing or cannot be used.
    """

    def __init__(self, config: CompareConfig, planned: Experiment, reuse: Path | None = None) -> None:
        if reuse is not None:
            check_reusable(reuse)
        self._reuse = reuse
        self._config = config
        self._kinds: dict[str, LabKind] = {}
        self._modules: dict[str, dict[str, Path]] = {}  # by kernel, then by scheme
        self._own: dict[str, dict[str, Path]] = {}  # those of them that the user brings
        self._models: dict[str, bytes] = {}  # by scheme
        hashes: dict[str, str] = {}
        algorithms: dict[str, str] = {}
        for kernel in planned.kernels():
            kind = lab_kind(config.lab, config.vm_kernel, planned, kernel or config.kernel or LAB, config.memory_mb)
            schemes = planned.all_schemes(kernel)
            own = build_own(schemes, kind)
            shipped = find_modules(schemes, kind)
            kind.check_modules(shipped.values())
            if not self._kinds:
                kind.check_commands(planned.scenarios)
            self._kinds[kernel], self._modules[kernel], self._own[kernel] = kind, shipped | own.files, own.files
            self._models |= find_models([scheme for scheme in schemes if scheme.name not in self._models])
            models = {scheme.name: self._models[scheme.name] for scheme in schemes if scheme.model}
            found = binaries(self._modules[kernel], models, planned.scenarios, kind)
            hashes |= {on_kernel(name, kernel): sha256 for name, sha256 in found.items()}
            algorithms |= own.algorithms
        check_together(planned, algorithms)
        self.experiment = replace(planned, binaries=hashes, algorithms=algorithms)

    def _labs(self, kernel: str) -> Labs:
        """Return the labs with a kernel; raises UserError for an unreachable cluster."""
        config, hashes, modules = self._config, self.experiment.binaries, self._modules[kernel]
        files = {self._kinds[kernel].kernel: hashes[on_kernel("lab kernel", kernel)]}
        files[PROGRAM] = hashes[on_kernel("traffic program", kernel)]
        own, boot = self._own[kernel], self._kinds[kernel].boot
        shipped = {scheme: module for scheme, module in modules.items() if scheme not in own}
        files |= {module: hashes[on_kernel(module_key(scheme), kernel)] for scheme, module in shipped.items()}
        pool = make_pool(config.runner, config.ray_address, jobs(config), boot, files, own.values())
        return Labs(pool, modules, self._models)

    @contextlib.contextmanager
    def completed(self, folder: Path, console: Console) -> Iterator[CompletedRuns]:
        """Make the missing runs, and hold the folder's lock while the caller writes reports.

        Raises UserError, Interrupted on Ctrl-C.
        """
        store, experiment = Store(folder), self.experiment
        with store.claim(experiment):
            store.keep_traces(experiment)
            count = len(experiment.runs())
            console.print(f"{count} run{'s' * (count != 1)} into {short(store.folder)}", highlight=False)
            began = time.monotonic()
            if self._reuse is not None:
                taken = reused_runs(experiment, store, self._reuse)
                console.print(f"{taken} of them taken from {short(self._reuse)}", highlight=False)
            try:
                with contextlib.ExitStack() as stack:
                    labs: dict[str, Labs] = {}
                    for kernel in self._kinds:
                        labs[kernel] = self._labs(kernel)
                        stack.enter_context(labs[kernel].pool)
                    if experiment.has_oracle:
                        experiment = _with_oracle(experiment, store, labs[""], console)
                        began = time.monotonic()
                    with shown_progress(console) as report:
                        progress = run_matrix(experiment, store, labs, report)
            except KeyboardInterrupt:
                done = sum(store.is_done(run) for run in experiment.runs())
                raise Interrupted(
                    f"interrupted: {done} of {len(experiment.runs())} runs are kept in {short(store.folder)}; the same "
                    f"command makes the others"
                ) from None
            wall_s = time.monotonic() - began
            cells = read_cells(experiment, store)
            described = environment.describe(experiment, cells, environment.command_line(), wall_s)
            # a call without runs keeps the environment.json of the call that made them
            if progress.seconds_run or not (store.folder / "environment.json").is_file():
                store.write("environment.json", environment.render(described).encode())
            yield CompletedRuns(experiment, store, cells, progress, wall_s)


def _with_oracle(experiment: Experiment, store: Store, labs: Labs, console: Console) -> Experiment:
    """Return the experiment with the oracle's windows. Runs of an earlier search are not repeated."""
    runs, virtual_s = first_cost(experiment)
    console.print(
        f"oracle: searching the best window of {len(experiment.scenarios)} scenarios; the first round has {runs} runs "
        f"of {virtual_s:.0f} virtual seconds in total",
        highlight=False,
    )
    with shown_progress(console) as report:
        search = find_windows(experiment, store, labs, report)
    for error in search.failed[:3]:
        console.print(f"failed: {error}", style="red", markup=False)
    windows = ", ".join(f"{packets} packets in {name}" for name, packets in search.windows.items())
    cost = f"{search.tried} windows tried, {search.virtual_s:.0f} virtual seconds in {search.wall_s:.0f} s"
    console.print(f"oracle: {windows}; {cost}", highlight=False)
    return replace(experiment, windows=search.windows)


def short(folder: Path) -> Path:
    """Return the folder relative to the working directory, if it is inside it."""
    current = Path.cwd()
    return folder.relative_to(current) if folder.is_relative_to(current) else folder
