"""The published figures of datasets/published, as what a report is given."""

from __future__ import annotations

from collections.abc import Sequence

from compare.metrics.cells import Cell
from compare.published import runs, tcp_nv
from compare.report.given import Published, Section


def published_beside(cells: Sequence[Cell]) -> tuple[list[Published], list[Section]]:
    """Return the published values of the cells' scenarios, and the sections about them."""
    single = runs.comparable(cells, runs.load_published())
    values = [*runs.published_values(single), *tcp_nv.published_values(tcp_nv.load_tables())]
    return values, runs.sections(cells, single)
