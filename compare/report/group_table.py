"""The table of a scenario with several flows or latencies: a row per scheme and group of flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.metrics.cells import Cell
from compare.metrics.group_metrics import GROUP_METRICS, JAIN, Group
from compare.metrics.metrics import Metric
from compare.report.published_tables import PublishedRow, paper_scenario
from compare.statistics.estimates import Estimate, estimate_of

COLUMNS = (*GROUP_METRICS, JAIN)


@dataclass(frozen=True)
class GroupRow:
    """A scheme's figures for one group of flows. measured: by the names of COLUMNS; published: the paper's row."""

    cell: Cell
    group: Group
    measured: dict[str, Estimate]
    published: PublishedRow | None

    def figure(self, name: str) -> float | None:
        """Return the published figure of a column, None where there is none."""
        return None if self.published is None else self.published.figures.get(name)


def group_rows(cells: Sequence[Cell], published: Sequence[PublishedRow]) -> list[GroupRow]:
    """Return the rows of one scenario; none where there is one flow without latencies, or no run yet.

    Published figures stand beside the scheme that they were measured with, whatever the duration: all but
    retrans_total are independent of it.
    """
    beside = {(row.scenario, row.scheme, row.group): row for row in published}
    rows = []
    for cell in cells:
        for group in cell.groups:
            measured = {}
            for column in COLUMNS:
                found = estimate_of(cell, group.metric(column).name)
                if found is not None:
                    measured[column.name] = found
            key = (paper_scenario(cell.scenario.name), cell.scheme.name, group.label)
            rows.append(GroupRow(cell, group, measured, beside.get(key)))
    return rows


def shown_columns(rows: Sequence[GroupRow]) -> list[Metric]:
    """Return the columns in which a row has a value; the lowest and the highest rate only where some row differs."""
    shown = []
    for column in COLUMNS:
        found = [row.measured[column.name] for row in rows if column.name in row.measured]
        if column.name in ("rate_min", "rate_max"):
            found = [e for row in rows if (e := row.measured.get(column.name)) and e != row.measured.get("rate")]
        if found:
            shown.append(column)
    return shown
