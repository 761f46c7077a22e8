"""The two things that compare.py does: measure, and draw again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from compare import environment
from compare.config import CompareConfig, jobs
from compare.errors import CompareError
from compare.experiment import Experiment, plan
from compare.labs import LabKind, lab_kind
from compare.local import LocalRunner
from compare.matrix import Progress, Runner, run_matrix
from compare.models import binaries, find_modules, module_key
from compare.oracle import find_windows, first_cost
from compare.paired import PairedComparison, compare_pairs, comparisons_csv
from compare.published import PublishedRun, load_published
from compare.published_tables import PublishedRow, load_tables
from compare.report import Comparison, render_markdown, render_report
from compare.store import Store
from compare.summary import Cell, beside_published, read_cells, summary_csv
from compare.terminal import print_tables, shown_progress, terminal
from env.lab.virtual import KERNEL, PROGRAM

RESULTS = Path(__file__).resolve().parent.parent / "results"


class Interrupted(Exception):
    """The user stopped the comparison; the message says what is kept and how to go on."""


def measure(config: CompareConfig) -> int:
    """Check everything, make the runs that are not there yet, write all outputs. Returns the number of failed runs.

    Raises CompareError before anything runs when something is wrong, Interrupted on Ctrl-C.
    """
    planned = plan(config.scenario, config.schemes, config.seeds, config.duration_s, config.sample_ms, config.rival)
    kind = lab_kind(config.lab, config.vm_kernel, planned)
    published, tables = load_published(), load_tables()
    console = terminal()
    modules = find_modules(planned.all_schemes(), kind.modules)
    experiment = replace(planned, binaries=binaries(modules, planned.scenarios, kind.kernel, kind.modules))
    store = Store(Path(config.output_dir) if config.output_dir else RESULTS / experiment.default_name())
    runner = _runner(config, kind, modules, experiment)
    with store.claim(experiment):
        console.print(f"{len(experiment.runs())} runs into {_short(store.folder)}", highlight=False)
        began = time.monotonic()
        try:
            if experiment.has_oracle:
                experiment = _with_oracle(experiment, store, modules, runner, console)
                began = time.monotonic()
            with shown_progress(console) as report:
                progress = run_matrix(experiment, store, modules, runner, report)
        except KeyboardInterrupt:
            kept = sum(store.is_done(run) for run in experiment.runs())
            raise Interrupted(
                f"interrupted: {kept} of {len(experiment.runs())} runs are kept in {_short(store.folder)}; the same "
                f"command goes on with the others"
            ) from None
        wall_s = time.monotonic() - began
        cells = read_cells(experiment, store)
        described = environment.describe(experiment, cells, environment.command_line(), wall_s)
        # a call that had nothing to run leaves the record of the one that had
        if progress.seconds_run or not (store.folder / "environment.json").is_file():
            store.write("environment.json", environment.render(described).encode())
        comparisons = _write_reports(store, experiment, cells, published, tables)
    _show(console, store, cells, comparisons, tables, progress, wall_s)
    return progress.failed


def _runner(config: CompareConfig, kind: LabKind, modules: Mapping[str, Path], experiment: Experiment) -> Runner:
    """Return what makes the runs; raises CompareError when Ray is wanted and not installed."""
    if config.runner == "local":
        return LocalRunner(jobs(config), kind.boot)
    try:
        from compare.ray_cluster import RayRunner  # here: an extra dependency
    except ImportError as error:
        raise CompareError(f"runner=ray needs Ray ({error}): run `make ray`") from error
    files = {KERNEL: experiment.binaries["lab kernel"], PROGRAM: experiment.binaries["traffic program"]}
    files |= {module: experiment.binaries[module_key(scheme)] for scheme, module in modules.items()}
    return RayRunner(config.ray_address, files)


def _with_oracle(
    experiment: Experiment, store: Store, modules: Mapping[str, Path], runner: Runner, console: Console
) -> Experiment:
    """Return the experiment with the oracle's windows, which are searched where the store has not got them."""
    runs, virtual_s = first_cost(experiment)
    console.print(
        f"oracle: searching the best window of {len(experiment.scenarios)} scenarios; to begin with {runs} runs, "
        f"{virtual_s:.0f} virtual seconds",
        highlight=False,
    )
    with shown_progress(console) as report:
        found = find_windows(experiment, store, modules, runner, report)
    for error in found.failed[:3]:
        console.print(f"failed: {error}", style="red", markup=False)
    windows = ", ".join(f"{packets} packets in {name}" for name, packets in found.windows.items())
    cost = f"{found.tried} windows tried, {found.virtual_s:.0f} virtual seconds in {found.wall_s:.0f} s"
    console.print(f"oracle: {windows}; {cost}", highlight=False)
    return replace(experiment, windows=found.windows)


def draw(folder: Path) -> int:
    """Write the tables and the reports again from the stored runs. Returns the number of failed runs."""
    store = Store(folder)
    experiment: Experiment = store.experiment()
    cells = read_cells(experiment, store)
    if not any(cell.seeds for cell in cells):
        raise CompareError(f"{folder} holds no finished run yet; call the command that made it again")
    tables = load_tables()
    comparisons = _write_reports(store, experiment, cells, load_published(), tables)
    console = terminal()
    print_tables(console, cells, comparisons, tables)
    for cell in cells:
        if cell.missing:
            seeds = ", ".join(map(str, cell.missing))
            where = f"{cell.scenario.name}, {cell.scheme.name}, seed {seeds}"
            console.print(f"missing: {where}; the command that made {folder} makes them", style="red", highlight=False)
        for error in cell.damaged.values():
            console.print(f"damaged: {error}", style="red", highlight=False)
    console.print(f"report: {store.folder / 'report.html'}", highlight=False, soft_wrap=True)
    return sum(len(cell.failed) for cell in cells)


def _write_reports(
    store: Store,
    experiment: Experiment,
    cells: list[Cell],
    published: list[PublishedRun],
    tables: list[PublishedRow],
) -> list[PairedComparison]:
    """Write all that is made from the cells; returns the comparisons of every pair of schemes."""
    comparisons = compare_pairs(cells)
    beside = beside_published(cells, published)
    store.write("summary.csv", summary_csv(cells).encode())
    store.write("comparisons.csv", comparisons_csv(comparisons).encode())
    comparison = Comparison(experiment, cells, comparisons, beside, tables, store.environment(), store.run_name)
    store.write("report.html", render_report(comparison).encode())
    store.write("report.md", render_markdown(comparison).encode())
    return comparisons


def _show(
    console: Console,
    store: Store,
    cells: list[Cell],
    comparisons: list[PairedComparison],
    tables: list[PublishedRow],
    progress: Progress,
    wall_s: float,
) -> None:
    if any(cell.seeds for cell in cells):
        print_tables(console, cells, comparisons, tables)
    for error in progress.errors[:3]:
        console.print(f"failed: {error}", style="red", markup=False)
    if len(progress.errors) > 3:
        console.print(f"and {len(progress.errors) - 3} more; see the report", style="red")
    if progress.seconds_run:
        speed = progress.seconds_run / wall_s
        console.print(
            f"{progress.seconds_run:.0f} virtual seconds in {wall_s:.0f} s of wall time ({speed:.0f} times real time)",
            highlight=False,
        )
    console.print(f"report: {store.folder / 'report.html'}", highlight=False, soft_wrap=True)


def _short(folder: Path) -> Path:
    """Return the folder as seen from here, where it lies below."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
