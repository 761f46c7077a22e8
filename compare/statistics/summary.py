"""summary.csv: mean and interval of every metric of every cell."""

from __future__ import annotations

from compare.metrics.cells import Cell
from compare.statistics.estimates import estimate_of
from compare.statistics.numbers import csv_text

COLUMNS = ("scenario", "scheme", "metric", "unit", "mean", "lo", "hi", "n")


def summary_csv(cells: list[Cell]) -> str:
    """Return the text of summary.csv: a row per scenario, scheme and metric that has a value, in a fixed order."""
    return csv_text(
        COLUMNS,
        (
            (cell.scenario.name, cell.scheme.name, metric.name, metric.unit, value.mean, value.lo, value.hi, value.n)
            for cell in cells
            for metric in cell.metrics
            if (value := estimate_of(cell, metric.name)) is not None
        ),
    )
