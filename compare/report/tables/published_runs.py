"""The published single runs of datasets/published/figures.yaml, compared with the measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from compare.errors import CompareError
from compare.metrics.cells import Cell
from compare.metrics.flow_metrics import METRICS
from compare.statistics.estimates import Estimate, estimate_of, inside_spread
from compare.statistics.verdict import Verdict
from env.checkout import DATASETS

FIGURES = DATASETS / "published" / "figures.yaml"


@dataclass(frozen=True)
class PublishedRun:
    """One published run. zero_intervals: None if it was not published."""

    scenario: str
    scheme: str
    run: int
    tested_s: float
    sender_mbps: float
    receiver_mbps: float
    sender_mib: float
    receiver_mib: float
    retransmits: int
    duration_s: float | None = None
    zero_intervals: int | None = None

    def figures(self) -> list[tuple[str, str, float]]:
        """Return (name, metric of the comparison, value) for every figure that the comparison has as a metric."""
        figures = [
            ("goodput, receiver side", "goodput", self.receiver_mbps),
            ("bitrate, sender side", "goodput", self.sender_mbps),
            ("retransmits", "retransmits", float(self.retransmits)),
        ]
        if self.zero_intervals is not None:
            figures.append(("zero seconds", "zero_seconds", float(self.zero_intervals)))
        return figures


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of a published single run, and its estimate over the seeds of this comparison; None without a run."""

    scenario: str
    scheme: str
    run: int
    figure: str
    unit: str
    published: float
    measured: Estimate | None

    @property
    def verdict(self) -> Verdict:
        """Whether the published single run lies inside the spread of the seeds."""
        return Verdict.of(None if self.measured is None else inside_spread(self.published, self.measured))


def load_published(file: Path = FIGURES) -> list[PublishedRun]:
    """Read all published runs; raises CompareError if the file is missing or damaged."""
    try:
        tests: list[dict[str, Any]] = yaml.safe_load(file.read_text())
        return [
            PublishedRun(scenario=test["scenario"], tested_s=test["tested_s"], **run)
            for test in tests
            for run in test["runs"]
        ]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise CompareError(f"{file}: published figures cannot be read: {error}") from error


def published_figures(cells: Sequence[Cell], runs: Sequence[PublishedRun]) -> list[PublishedFigure]:
    """Return every published figure of the compared scenarios, also of schemes that were not measured.

    Scenarios with a changed duration are left out, because counts depend on it.
    """
    measured = {(cell.scenario.name, cell.scheme.name): cell for cell in cells}
    duration_s = {cell.scenario.name: cell.scenario.duration_s for cell in cells}
    units = {metric.name: metric.unit for metric in METRICS}
    figures = []
    for run in runs:
        if duration_s.get(run.scenario) != run.tested_s:
            continue
        cell = measured.get((run.scenario, run.scheme))
        for figure, metric, value in run.figures():
            estimate = None if cell is None else estimate_of(cell, metric)
            figures.append(PublishedFigure(run.scenario, run.scheme, run.run, figure, units[metric], value, estimate))
    return figures
