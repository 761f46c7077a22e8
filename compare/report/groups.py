"""The table of a scenario with several flows or latencies: a row per scheme and group of flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.metrics.cells import Cell
from compare.metrics.group_metrics import GROUP_METRICS, JAIN, Group
from compare.metrics.metric import Metric
from compare.report.given import Published
from compare.statistics.estimates import Estimate, estimate_of

COLUMNS = (*GROUP_METRICS, JAIN)


@dataclass(frozen=True)
class GroupRow:
    """A scheme's figures for one group of flows. measured: by the names of COLUMNS."""

    cell: Cell
    group: Group
    measured: dict[str, Estimate]
    published: Published | None

    def figure(self, name: str) -> float | None:
        """Return the published figure of a column; None without one."""
        return None if self.published is None else self.published.values.get(name)


def group_rows(cells: Sequence[Cell], published: Sequence[Published]) -> list[GroupRow]:
    """Return the rows of one scenario; none for a single bulk flow, or without a run."""
    by_key = {(row.scenario, row.scheme, row.group): row for row in published}
    rows = []
    for cell in cells:
        for group in cell.groups:
            measured = {}
            for column in COLUMNS:
                estimate = estimate_of(cell, group.metric(column).name)
                if estimate is not None:
                    measured[column.name] = estimate
            key = (cell.scenario.name, cell.scheme.name, group.label)
            rows.append(GroupRow(cell, group, measured, by_key.get(key)))
    return rows


def shown_columns(rows: Sequence[GroupRow]) -> list[Metric]:
    """Return the columns with a value; lowest and highest rate only if they differ from the rate in some row."""
    shown = []
    for column in COLUMNS:
        values = [row.measured[column.name] for row in rows if column.name in row.measured]
        if column.name in ("rate_min", "rate_max"):
            values = [row.measured[column.name] for row in rows if _differs_from_rate(row, column.name)]
        if values:
            shown.append(column)
    return shown


def _differs_from_rate(row: GroupRow, column: str) -> bool:
    return column in row.measured and row.measured[column] != row.measured.get("rate")
