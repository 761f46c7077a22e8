"""The tables of the TCP-NV paper (datasets/published/tcp_nv.yaml), row by row, with this project's metric names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from compare.report.given import Published
from env.checkout import DATASETS

TABLES = DATASETS / "published" / "tcp_nv.yaml"
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
_SEVERAL_SIZES = "+..."


@dataclass(frozen=True)
class PublishedRow:
    """One row of one of the paper's tables.

    experiment: the paper's number, "1025.10". group: label of its flows (compare/metrics/group_metrics.py), empty for
    the whole experiment. duration_s: None if the table does not give it. figures: metric to value.
    """

    table: int
    title: str
    experiment: str
    scenario: str
    scheme: str
    group: str
    duration_s: float | None
    figures: dict[str, float]


def load_tables() -> list[PublishedRow]:
    """Read all rows of all tables."""
    return [row for table in yaml.safe_load(TABLES.read_text()) for row in _rows(table)]


def published_values(rows: Sequence[PublishedRow]) -> list[Published]:
    """Return the values that stand beside the measured ones, also beside those in packets of four frames.

    They are shown for any duration of the runs, because only retrans_total depends on it.
    """
    return [
        Published(
            f"{folder}/{row.scenario.partition('/')[2]}",
            row.scheme,
            row.figures,
            row.group,
            row.experiment,
            f"table {row.table} of the TCP-NV paper, {row.title.lower()}",
        )
        for row in rows
        for folder in (SCENARIO_FOLDER, FRAMES_FOLDER)
    ]


def _rows(table: dict[str, Any]) -> list[PublishedRow]:
    rows = [dict(zip(table["columns"], fields, strict=True)) for fields in table["rows"]]
    mixed = {cells["expName"] for cells in rows if str(cells.get("req", "")).endswith(_SEVERAL_SIZES)}
    return [
        PublishedRow(
            table=table["table"],
            title=table["title"],
            experiment=cells["exp"],
            scenario=f"{SCENARIO_FOLDER}/{cells['expName']}",
            scheme=cells["ca"],
            group=_group(cells, mixed),
            duration_s=cells.get("dur"),
            figures={
                metric: float(cells[column])
                for column, metric in FIGURE_COLUMNS.items()
                if cells.get(column) is not None
            },
        )
        for cells in rows
    ]


def _group(cells: dict[str, Any], mixed: set[str]) -> str:
    """Return the label of a row's group of flows. mixed: the experiments with requests of several sizes."""
    if cells["exp"].endswith(".0"):
        return ""
    return str(cells["req"]) if cells["expName"] in mixed else "client"
