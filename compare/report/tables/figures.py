"""The figures of all targets side by side: a row per requirement and scenario, a column per scheme."""

from __future__ import annotations

from collections.abc import Sequence

from compare.targets.tables import TargetTable
from env.markdown import markdown_table
from env.network.schemes import Scheme

NOT_MEASURED = "–"


def figures_table(tables: Sequence[TargetTable]) -> str:
    """Return a Markdown table of the figures that the requirements judge, with their intervals.

    A figure that several requirements of a target judge has one row, with the name of the first of them.
    """
    schemes: dict[str, Scheme] = {scheme.name: scheme for table in tables for scheme in table.schemes}
    rows: list[list[str]] = []
    for table in tables:
        judged = {scheme.name: table.judgements(scheme.name) for scheme in table.schemes}
        seen: set[tuple[str, ...]] = set()
        for same in zip(*judged.values(), strict=True):
            figures = dict(zip(judged, (one.shown for one in same), strict=True))
            if (key := (same[0].scenario, same[0].unit, *figures.values())) in seen:
                continue
            seen.add(key)
            unit = f", {same[0].unit}" if same[0].unit else ""
            cells = [figures.get(name, NOT_MEASURED) for name in schemes]
            rows.append([f"{table.target.name}.{same[0].requirement}{unit}", same[0].scenario, *cells])
    heads = ["requirement", "scenario", *(scheme.label for scheme in schemes.values())]
    return markdown_table(heads, rows) + "\n"
