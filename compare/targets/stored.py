"""The folder of targets: it holds one comparison per target, in a folder with the target's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compare.experiment.experiment import Experiment
from compare.experiment.store import EXPERIMENT, Store
from compare.metrics.cells import Cell, read_cells
from compare.targets.catalogue import TARGETS
from compare.targets.target import Target


def holds_targets(folder: Path) -> bool:
    """True if a folder holds a target's comparison and is not itself a comparison."""
    return not (folder / EXPERIMENT).exists() and any((folder / name / EXPERIMENT).exists() for name in TARGETS)


def stored_targets(folder: Path) -> Iterator[tuple[Target, Store, Experiment, list[Cell]]]:
    """Yield the targets of a folder with their stored runs, in the order of TARGETS; raises UserError."""
    for target in TARGETS.values():
        store = Store(folder / target.name)
        if (store.folder / EXPERIMENT).exists():
            experiment = store.experiment()
            yield target, store, experiment, read_cells(experiment, store)
