"""Joint scores of models that a study makes: the target `development` as fitness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from compare.command.measurement import Measurement
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import plan_of
from compare.metrics.cells import Cell
from compare.statistics.estimates import Estimate
from compare.targets.development import DEVELOPMENT
from compare.targets.evidence import Evidence
from compare.targets.tables import TargetTable
from compare.targets.target import Target


class JointScores:
    """The joint scores of models over some seeds. The schemes that set thresholds are measured once, into a folder.

    Raises CompareError, and Interrupted on Ctrl-C, as Measurement does.
    """

    def __init__(self, folder: Path, seeds: int, console: Console, target: Target = DEVELOPMENT) -> None:
        self._seeds, self._console, self._target = seeds, console, target
        self._references = self._measure(folder, target.references)

    def of(self, folder: Path, schemes: Sequence[str]) -> list[tuple[Estimate, list[float]]]:
        """Measure schemes into a folder; return the score of each, and what each requirement adds to it."""
        cells = self._measure(folder, schemes) if schemes else []
        table = TargetTable(self._target, Evidence([*self._references, *cells]))
        return [(table.score(scheme), table.margins(scheme)) for scheme in schemes]

    def _measure(self, folder: Path, schemes: Sequence[str]) -> list[Cell]:
        planned = plan_of(self._target.make(), list(schemes), self._seeds, None, self._target.sample_ms)
        with Measurement(CompareConfig(), planned).completed(folder, self._console) as completed:
            return completed.cells
