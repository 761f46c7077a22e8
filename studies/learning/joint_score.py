"""Joint scores of models that a study makes: the target `development` as fitness."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from compare.command.measurement import Measurement
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import plan_of
from compare.metrics.cells import Cell
from compare.statistics.estimates import Estimate
from compare.targets.catalogue.development import DEVELOPMENT
from compare.targets.evidence import Evidence
from compare.targets.tables import TargetTable
from compare.targets.target import Target
from export.integer.model import ExportError
from export.pipeline import build_model


class JointScores:
    """The joint scores of models over some seeds. The schemes that set thresholds are measured once, into a folder.

    Raises CompareError, and Interrupted on Ctrl-C, as Measurement does.
    """

    def __init__(self, folder: Path, seeds: int, console: Console, target: Target = DEVELOPMENT) -> None:
        self._seeds, self._console, self._target = seeds, console, target
        self._references = self._measure(folder, target.references)

    def of(self, folder: Path, policies: Sequence[Path]) -> list[tuple[Estimate, list[float]] | None]:
        """Measure rules or run folders into a folder, and delete the runs.

        Returns the score of each, and what each requirement adds to it; None for a policy that the export refuses.
        """
        schemes = {policy: f"ndm@{policy}" for policy in policies if _exports(policy)}
        cells = self._measure(folder, list(schemes.values())) if schemes else []
        table = TargetTable(self._target, Evidence([*self._references, *cells]))
        scores = {policy: (table.score(scheme), table.margins(scheme)) for policy, scheme in schemes.items()}
        # after the scores, which read the runs: 50 MB a policy, and the next ones may have the same names
        shutil.rmtree(folder, ignore_errors=True)
        return [scores.get(policy) for policy in policies]

    def _measure(self, folder: Path, schemes: Sequence[str]) -> list[Cell]:
        planned = plan_of(self._target.make(), list(schemes), self._seeds, None, self._target.sample_ms)
        with Measurement(CompareConfig(), planned).completed(folder, self._console) as completed:
            return completed.cells


def _exports(policy: Path) -> bool:
    try:
        build_model(policy)
    except ExportError:
        return False
    return True
