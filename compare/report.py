"""report.html: one file with everything in it, to be read without a network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from compare import plots
from compare.experiment import Experiment
from compare.group_table import GroupRow, best_of, group_rows, shown_columns
from compare.metrics import METRIC, METRICS
from compare.published_tables import PublishedRow
from compare.statistics import CONFIDENCE, RESAMPLES
from compare.summary import Beside, Cell
from compare.terminal import interval, number

TEMPLATE = "report.html.j2"


@dataclass(frozen=True)
class Comparison:
    """All that a report shows. environment: the content of environment.json, empty when it is not there yet.

    beside: published single runs with ours; tables: rows of published tables, whose scenarios may be others.
    """

    experiment: Experiment
    cells: list[Cell]
    beside: list[Beside]
    tables: list[PublishedRow]
    environment: dict[str, Any]


def render_report(comparison: Comparison) -> str:
    """Return the text of report.html."""
    jinja = Environment(
        loader=FileSystemLoader(Path(__file__).resolve().parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {"number": number, "interval": interval}
    experiment = comparison.experiment
    names = [scenario.name for scenario in experiment.scenarios]
    return jinja.get_template(TEMPLATE).render(
        experiment=experiment,
        metrics=METRICS,
        confidence=round(100 * CONFIDENCE),
        resamples=RESAMPLES,
        sections=[_section(comparison, name) for name in names],
        failed=[(cell, seed, error) for cell in comparison.cells for seed, error in sorted(cell.failed.items())],
        missing=sum(len(cell.missing) for cell in comparison.cells),
        done=sum(len(cell.seeds) for cell in comparison.cells),
        environment=comparison.environment,
        environment_json=json.dumps(comparison.environment, indent=1),
    )


def _section(comparison: Comparison, name: str) -> dict[str, Any]:
    """Return what the template needs for one scenario."""
    cells = [cell for cell in comparison.cells if cell.scenario.name == name]
    beside = [row for row in comparison.beside if row.scenario == name]
    measured = [cell for cell in cells if cell.seeds]
    rows = group_rows(measured, comparison.tables)
    if rows:
        return _group_section(name, cells, rows)
    best = {metric.name: _best(cells, metric.name) for metric in METRICS}
    pictures = {}
    if measured:
        pictures = {
            "delay": Markup(plots.goodput_against_delay(measured)),
            "timelines": Markup(plots.timelines(measured)),
            "bars": [
                (METRIC[name], Markup(plots.bars(measured, name, beside)))
                for name in plots.BAR_METRICS
                if any(value > 0 for cell in measured for value in cell.values[name])
            ],
        }
    return {
        "name": name,
        "scenario": cells[0].scenario,
        "network": cells[0].scenario.path or cells[0].scenario.rack,
        "cells": cells,
        "group_rows": [],
        "rows": [(cell, cell.estimates()) for cell in cells],
        "best": best,
        "beside": beside,
        "identical": [cell.scheme.label for cell in measured if _identical(cell)],
        "pictures": pictures,
    }


def _group_section(name: str, cells: list[Cell], rows: list[GroupRow]) -> dict[str, Any]:
    """Return what the template needs for a scenario with several flows or latencies."""
    measured = [cell for cell in cells if cell.seeds]
    columns = shown_columns(rows)
    groups = list(dict.fromkeys(row.group.label for row in rows))
    latencies = []
    for label in groups:
        mine = [row for row in rows if row.group.label == label]
        if any("p99_latency" in row.measured for row in mine) and label != "client":
            latencies.append((mine[0].group.title, Markup(plots.latency_bars(mine))))
    return {
        "name": name,
        "scenario": cells[0].scenario,
        "network": cells[0].scenario.path or cells[0].scenario.rack,
        "cells": cells,
        "group_rows": rows,
        "group_columns": columns,
        "group_best": {
            (row.cell.scheme.name, row.group.label, column.name)
            for row in rows
            for column in columns
            if best_of(rows, row, column)
        },
        "published": sorted({(row.published.table, row.published.title) for row in rows if row.published}),
        "identical": [cell.scheme.label for cell in measured if _identical(cell)],
        "group_pictures": {
            "rate_and_cwnd": Markup(plots.rate_and_cwnd([row for row in rows if row.group.label == ""])),
            "latencies": latencies,
            "flows": [(cell, Markup(plots.flow_lines(cell))) for cell in measured],
        },
    }


def _best(cells: list[Cell], metric: str) -> str | None:
    """Return the scheme with the best mean; None where there is no better or worse, or nothing to compare."""
    found = {cell.scheme.name: cell.estimates().get(metric) for cell in cells}
    means = {name: estimate.mean for name, estimate in found.items() if estimate is not None}
    direction = METRIC[metric].better
    if direction == 0 or len(means) < 2 or len(set(means.values())) == 1:
        return None
    return max(means, key=lambda name: direction * means[name])


def _identical(cell: Cell) -> bool:
    """True when every seed gave the same run: nothing on this path is random."""
    return len(cell.seeds) > 1 and all(len(set(map(repr, values))) <= 1 for values in cell.values.values())
