"""compare.py targets=...: each target is an experiment in its own folder; then all targets are judged::

DIR/published/, DIR/buffers/, ...    the comparisons of the targets
DIR/targets.md, DIR/targets.csv      the judgements of all measured targets
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from compare.command.comparison import write_reports
from compare.command.measurement import Interrupted, Measurement
from compare.command.progress import terminal
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import Experiment, plan_of
from compare.experiment.models import model_sha256
from compare.experiment.store import Store
from compare.metrics.cells import Cell
from compare.statistics.summary import summary_csv
from compare.targets.catalogue import TARGETS, find_targets
from compare.targets.evidence import Evidence, competes
from compare.targets.last_lines import last_lines
from compare.targets.section import target_section
from compare.targets.stored import holds_targets, stored_targets
from compare.targets.tables import TargetTable, targets_csv
from compare.targets.target import Target
from env.checkout import RESULTS
from env.errors import UserError
from env.network.schemes import ALL, ORACLE, Scheme, find_schemes

MARKDOWN, CSV = "targets.md", "targets.csv"


def measure_targets(config: CompareConfig) -> int:
    """Make every target's missing runs, judge them and write all outputs. Returns the number of failed runs.

    Raises UserError, for wrong options before anything runs, and Interrupted on Ctrl-C.
    """
    schemes = find_schemes(config.schemes or [ALL])
    targets = [_drawn(target, schemes) for target in find_targets(config.targets)]
    names = [scheme.name for scheme in schemes]
    measurements = {
        target.name: Measurement(config, _planned(target, config, names), _reused(target, config)) for target in targets
    }
    folder = Path(config.output_dir) if config.output_dir else RESULTS / _default_name(measurements)
    console = terminal()
    tables: dict[str, TargetTable] = {}
    failed = 0
    for target in targets:
        console.print(f"\n{target.name}: {target.title}", style="bold", highlight=False)
        try:
            with measurements[target.name].completed(folder / target.name, console) as completed:
                tables[target.name] = _write(target, completed.store, completed.experiment, completed.cells)
        except Interrupted as error:
            raise Interrupted(
                f"{error} (target {target.name} of {', '.join(other.name for other in targets)})"
            ) from None
        completed.print_cost(console)
        failed += completed.progress.failed
    _judge(folder, tables, console, [scheme.name for scheme in schemes if competes(scheme)])
    return failed


def draw_targets(folder: Path) -> int:
    """Judge a folder's targets again from the stored runs and write all outputs. Returns the number of failed runs."""
    tables, failed, schemes = {}, 0, dict[str, None]()
    for target, store, experiment, cells in stored_targets(folder):
        tables[target.name] = _write(target, store, experiment, cells)
        failed += sum(len(cell.failed) for cell in cells)
        schemes |= dict.fromkeys(scheme.name for scheme in tables[target.name].schemes)
    _judge(folder, tables, terminal(), list(schemes))
    return failed


def _drawn(target: Target, schemes: Sequence[Scheme]) -> Target:
    """Return the target, with the scenarios that the judged model draws where a model does."""
    if target.draw is None:
        return target
    models = [scheme for scheme in schemes if scheme.runs_ndm]
    if len(models) != 1:
        raise UserError(
            f"target {target.name} has the scenarios of one model, and schemes has {len(models)}: "
            f"{', '.join(model.name for model in models) or 'none'}. Give one, such as schemes=[ndm,cubic,bbr]"
        )
    return target.drawn_by(model_sha256(models[0]))


def _reused(target: Target, config: CompareConfig) -> Path | None:
    """Return the folder of a target in that of reuse=; None where it has none. Raises UserError."""
    if config.reuse is None:
        return None
    folder = Path(config.reuse)
    if not holds_targets(folder):
        raise UserError(f"reuse={folder} holds no targets: give the output_dir of a comparison with targets=")
    return folder / target.name if (folder / target.name).is_dir() else None


def _planned(target: Target, config: CompareConfig, schemes: Sequence[str]) -> Experiment:
    # the oracle's search would be most of the work, so only targets with the oracle as a bound have it
    names = dict.fromkeys([*(name for name in schemes if name != ORACLE), *target.references])
    sample_ms = min(config.sample_ms, target.sample_ms)
    return plan_of(target.make(), list(names), target.seeds_of(config.seeds), config.duration_s, sample_ms)


def _default_name(measurements: Mapping[str, Measurement]) -> str:
    identity = {name: measurement.experiment.identity() for name, measurement in measurements.items()}
    return f"targets-{hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]}"


def _write(target: Target, store: Store, experiment: Experiment, cells: list[Cell]) -> TargetTable:
    """Write the outputs of a target's comparison; returns the judgements."""
    table = TargetTable(target, Evidence(cells))
    if target.reported:
        write_reports(store, experiment, cells, [target_section(table)])
    else:
        store.write("summary.csv", summary_csv(cells).encode())
    return table


def _judge(folder: Path, tables: Mapping[str, TargetTable], console: Console, schemes: Sequence[str]) -> None:
    """Write and print the judgements of all targets."""
    if not tables:
        raise UserError(f"{folder} holds no runs of a target")
    in_order = [tables[name] for name in TARGETS if name in tables]
    texts = [target_section(table).markdown() for table in in_order]
    summary = last_lines(in_order, schemes)
    store = Store(folder)
    store.write(MARKDOWN, "\n".join(["# Targets\n", *texts, *(f"{line}\n" for line in summary)]).encode())
    store.write(CSV, targets_csv(in_order).encode())
    for text in texts:
        console.print(f"\n{text}", markup=False, highlight=False, soft_wrap=True, end="")
    console.print(f"\nfigures: {folder / CSV}; tables: {folder / MARKDOWN}", highlight=False, soft_wrap=True)
    for line in summary:
        console.print(line, highlight=False, soft_wrap=True)
