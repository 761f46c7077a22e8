"""compare.py with scenarios: make their runs, or write the reports of stored runs again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from compare.command.measurement import CompletedRuns, Measurement, short
from compare.command.progress import terminal
from compare.experiment.changes import NETWORKS, read_changes
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import Experiment, plan
from compare.experiment.store import Store
from compare.metrics.cells import Cell, read_cells
from compare.published import published_beside
from compare.report import Comparison, render_markdown, render_report
from compare.report.given import Section
from compare.report.terminal import print_tables
from compare.statistics.paired import compare_pairs, comparisons_csv
from compare.statistics.summary import summary_csv
from env.checkout import RESULTS
from env.errors import UserError
from env.network.own_scheme import require_trust


def measure(config: CompareConfig) -> int:
    """Make the missing runs, write all outputs and print the tables. Returns the number of failed runs.

    Raises UserError, for wrong options before anything runs, and Interrupted on Ctrl-C.
    """
    console = terminal()
    completed, comparison = complete(config, console)
    if any(cell.seeds for cell in completed.cells):
        print_tables(console, comparison)
    completed.print_cost(console)
    _name_report(console, completed.store)
    return completed.progress.failed


def complete(config: CompareConfig, console: Console) -> tuple[CompletedRuns, Comparison]:
    """Make the missing runs and write all outputs. Raises as measure()."""
    changes = read_changes({network: getattr(config, network) for network in NETWORKS})
    planned = plan(
        config.scenario, config.schemes, config.seeds, config.duration_s, config.sample_ms, config.rival, changes
    )
    own = [scheme.own_name for scheme in planned.all_schemes() if scheme.source]
    require_trust(own, [*(config.schemes or ()), config.rival or ""], config.trust)
    measurement = Measurement(config, planned, Path(config.reuse) if config.reuse else None)
    folder = Path(config.output_dir) if config.output_dir else RESULTS / measurement.experiment.default_name()
    with measurement.completed(folder, console) as completed:
        return completed, write_reports(completed.store, completed.experiment, completed.cells)


def draw(folder: Path) -> int:
    """Write tables and reports again from the stored runs. Returns the number of failed runs."""
    store = Store(folder)
    experiment = store.experiment()
    store.restore_traces(experiment)
    cells = read_cells(experiment, store)
    if not any(cell.seeds for cell in cells):
        raise UserError(f"{folder} holds no finished run; call the command that made it again")
    comparison = write_reports(store, experiment, cells)
    console = terminal()
    print_tables(console, comparison)
    for cell in cells:
        if cell.missing:
            seeds = ", ".join(map(str, cell.missing))
            runs = f"{cell.scenario.name}, {cell.scheme.name}, seed {seeds}"
            console.print(f"missing: {runs}; the command that made {folder} makes them", style="red", highlight=False)
        for error in cell.damaged.values():
            console.print(f"damaged: {error}", style="red", highlight=False)
    _name_report(console, store)
    return sum(len(cell.failed) for cell in cells)


def _name_report(console: Console, store: Store) -> None:
    path = short(store.folder) / "report.html"
    console.print(f"report, with all metrics and figures: {path}", highlight=False, soft_wrap=True)


def write_reports(
    store: Store, experiment: Experiment, cells: list[Cell], sections: Sequence[Section] = ()
) -> Comparison:
    """Write all outputs of the cells; return the content of the report. sections: of the report, besides its own."""
    comparisons = compare_pairs(cells)
    published, about_published = published_beside(cells)
    store.write("summary.csv", summary_csv(cells).encode())
    store.write("comparisons.csv", comparisons_csv(comparisons).encode())
    comparison = Comparison(
        experiment,
        cells,
        comparisons,
        store.environment(),
        store.run_name,
        published,
        [*sections, *about_published],
    )
    store.write("report.html", render_report(comparison).encode())
    store.write("report.md", render_markdown(comparison).encode())
    return comparison
