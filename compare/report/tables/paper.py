"""The tables of the TCP-NV paper (datasets/published/tcp_nv.yaml), row by row, with this project's metric names."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from compare.errors import CompareError
from compare.report.tables.published_runs import FIGURES

TABLES = FIGURES.parent / "tcp_nv.yaml"
SCENARIO_FOLDER = "nv"  # of configs/scenario: nv/1s1c1fs is the paper's experiment 1s1c1fs
FRAMES_FOLDER = "nv_frames"  # the same experiments in packets of four frames

# the paper's columns of figures, and the same metrics in compare/metrics/group_metrics.py
FIGURE_COLUMNS = {
    "cwnd": "cwnd",
    "rtt": "rtt",
    "rate": "rate",
    "rateMin": "rate_min",
    "rateMax": "rate_max",
    "retransPkts%": "retrans_pct",
    "meanLatency": "mean_latency",
    "p99Latency": "p99_latency",
    "retrans_total": "retrans_total",
}
DESCRIPTIONS = ("exp", "expName", "test", "ca", "req", "dur")
_EXPERIMENT = re.compile(r"\d{4}\.\d{1,2}")
_SEVERAL_SIZES = "+..."


@dataclass(frozen=True)
class PublishedRow:
    """One row of one of the paper's tables.

    experiment: the paper's number, "1025.10". group: label of its flows (compare/metrics/group_metrics.py), empty for
    the whole experiment. duration_s: None if the table does not give it. figures: metric to value.
    """

    table: int
    title: str
    section: str
    experiment: str
    scenario: str
    test: str
    scheme: str
    group: str
    duration_s: float | None
    figures: dict[str, float]


def load_tables(file: Path = TABLES) -> list[PublishedRow]:
    """Read all rows of all tables; raises CompareError that names the table and the wrong row."""
    try:
        tables: list[dict[str, Any]] = yaml.safe_load(file.read_text())
        if not isinstance(tables, list):
            raise CompareError("it is not a list of tables")
        rows = [row for table in tables for row in _rows(table)]
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise CompareError(f"{file}: the published tables cannot be read: {error}") from error
    numbers = [row.experiment for row in rows]
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise CompareError(f"{file}: experiment {', '.join(twice)} appears twice; each must appear once")
    return rows


def paper_scenario(scenario: str) -> str:
    """Return the scenario of the paper's figures: nv/1s1c1fs, also for nv_frames/1s1c1fs."""
    folder, _, name = scenario.rpartition("/")
    return f"{SCENARIO_FOLDER}/{name}" if folder == FRAMES_FOLDER else scenario


def _rows(table: dict[str, Any]) -> list[PublishedRow]:
    columns, where = list(table["columns"]), f"table {table['table']}"
    unknown = [column for column in columns if column not in (*DESCRIPTIONS, *FIGURE_COLUMNS)]
    if unknown:
        raise CompareError(f"{where}: column {', '.join(unknown)} is unknown; they are {', '.join(FIGURE_COLUMNS)}")
    rows = []
    for fields in table["rows"]:
        if len(fields) != len(columns):
            raise CompareError(f"{where}: {fields} has {len(fields)} fields, the table {len(columns)} columns")
        rows.append(dict(zip(columns, fields, strict=True)))
    mixed = {cells["expName"] for cells in rows if str(cells.get("req", "")).endswith(_SEVERAL_SIZES)}
    return [_row(table, cells, _group(cells, mixed), where) for cells in rows]


def _group(cells: dict[str, Any], mixed: set[str]) -> str:
    """Return the label of a row's group of flows. mixed: the experiments with requests of several sizes."""
    if str(cells["exp"]).endswith(".0"):
        return ""
    return str(cells["req"]) if cells["expName"] in mixed else "client"


def _row(table: dict[str, Any], cells: dict[str, Any], group: str, where: str) -> PublishedRow:
    experiment = cells["exp"]
    if not isinstance(experiment, str) or not _EXPERIMENT.fullmatch(experiment):
        raise CompareError(f'{where}: exp is {experiment!r}; it must be a string such as "1025.10"')
    figures = {}
    for column, metric in FIGURE_COLUMNS.items():
        value = cells.get(column)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise CompareError(f"{where}, {experiment}: {column} is {value!r}; it must be a number from 0")
        figures[metric] = float(value)
    for low, high in (("rate_min", "rate_max"), ("rate_max", "rate")):
        if low in figures and high in figures and figures[low] > figures[high]:
            raise CompareError(f"{where}, {experiment}: {low} {figures[low]:g} is above {high} {figures[high]:g}")
    if figures.get("retrans_pct", 0.0) > 100:
        raise CompareError(f"{where}, {experiment}: retransPkts% is {figures['retrans_pct']:g}; it must be at most 100")
    return PublishedRow(
        table=int(table["table"]),
        title=table["title"],
        section=table["section"],
        experiment=experiment,
        scenario=f"{SCENARIO_FOLDER}/{cells['expName']}",
        test=cells["test"],
        scheme=cells["ca"],
        group=group,
        duration_s=None if cells.get("dur") is None else float(cells["dur"]),
        figures=figures,
    )
