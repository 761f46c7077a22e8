"""The figures of all targets side by side: a row per requirement and scenario, a column per scheme."""

from __future__ import annotations

from collections.abc import Sequence

from compare.targets.tables import TargetTable
from env.markdown import markdown_table
from env.network.schemes import Scheme

NOT_MEASURED = "–"


def figures_table(tables: Sequence[TargetTable]) -> str:
    """Return a Markdown table of the figures that the requirements judge, with their intervals.

    A figure that several requirements of a target judge has one row, with the name of the first of them. A requirement
    that is judged beside each peer (``undominated``) has no figure of its own, and no row.
    """
    schemes: dict[str, Scheme] = {scheme.name: scheme for table in tables for scheme in table.schemes}
    rows: list[list[str]] = []
    for table in tables:
        figures: dict[tuple[str, str, str], dict[str, list[str]]] = {}
        for scheme in table.schemes:
            for one in table.judgements(scheme.name):
                of_schemes = figures.setdefault((one.requirement, one.scenario, one.unit), {})
                of_schemes.setdefault(scheme.name, []).append(one.shown)
        seen: set[tuple[str, ...]] = set()
        for (requirement, scenario, unit), of_schemes in figures.items():
            shown = [(of_schemes.get(name) or [NOT_MEASURED])[0] for name in schemes]
            if (key := (scenario, unit, *shown)) in seen or any(len(several) > 1 for several in of_schemes.values()):
                continue
            seen.add(key)
            rows.append([f"{table.target.name}.{requirement}{f', {unit}' if unit else ''}", scenario, *shown])
    heads = ["requirement", "scenario", *(scheme.label for scheme in schemes.values())]
    return markdown_table(heads, rows) + "\n"
