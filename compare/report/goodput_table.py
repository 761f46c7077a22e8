"""Goodput at a glance: a row per scenario, a column per scheme, the seeds of a trained population in one column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from compare.metrics.cells import Cell, by_scenario
from compare.report.pages import markdown_table
from compare.statistics.estimates import estimate_of
from compare.statistics.numbers import number
from env.network.schemes import Scheme

NOT_MEASURED = "–"


def goodput_table(cells: Sequence[Cell]) -> str:
    """Return a Markdown table of mean goodputs, Mbit/s, of the first flow under test.

    Models ``runs/.../NAME/NAME-SEED`` share the column NAME, in the order in which they were named. A scheme that some
    scenario was not compared with (the reference of one target) has no column.
    """
    scenarios = by_scenario(cells)
    columns: dict[str, list[Scheme]] = {}
    for scheme in {cell.scheme.name: cell.scheme for cell in cells}.values():
        if all(any(cell.scheme.name == scheme.name for cell in found) for found in scenarios.values()):
            columns.setdefault(_column(scheme), []).append(scheme)
    rows = []
    for scenario, found in scenarios.items():
        means = {cell.scheme.name: _mean_mbps(cell) for cell in found}
        values = [", ".join(means[scheme.name] for scheme in schemes) for schemes in columns.values()]
        rows.append([scenario, *values])
    return "\n".join(markdown_table(["goodput, Mbit/s", *columns], rows)) + "\n"


def _column(scheme: Scheme) -> str:
    run = Path(scheme.model)
    of_population = run.parent.name and re.fullmatch(rf"{re.escape(run.parent.name)}-\d+", run.name)
    return run.parent.name if of_population else scheme.label


def _mean_mbps(cell: Cell) -> str:
    found = estimate_of(cell, "goodput")
    return NOT_MEASURED if found is None else number(found.mean)
