"""summary.csv: mean and interval of every metric of every cell."""

from __future__ import annotations

import csv
import io

from compare.metrics.cells import Cell
from compare.statistics.estimates import estimate_of

COLUMNS = ("scenario", "scheme", "metric", "unit", "mean", "lo", "hi", "n")


def summary_csv(cells: list[Cell]) -> str:
    """Return the text of summary.csv: a row per scenario, scheme and metric that has a value, in a fixed order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in cells:
        for metric in cell.metrics:
            estimate = estimate_of(cell, metric.name)
            if estimate is not None:
                numbers = [
                    "" if value is None else f"{value:.6g}" for value in (estimate.mean, estimate.lo, estimate.hi)
                ]
                writer.writerow([cell.scenario.name, cell.scheme.name, metric.name, metric.unit, *numbers, estimate.n])
    return text.getvalue()
