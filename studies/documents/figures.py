"""The figures of all targets side by side: a row per requirement and scenario, a column per scheme."""

from __future__ import annotations

from collections.abc import Sequence

from compare.targets.tables import TargetTable
from env.markdown import markdown_table
from env.network.schemes import Scheme
from studies.documents.goodput import NOT_MEASURED


def figures_table(tables: Sequence[TargetTable]) -> str:
    """Return a Markdown table of the figures that the requirements judge, with their intervals.

    A figure that several requirements of a target judge has one row, with the name of the first of them. A requirement
    that is judged beside each peer (``undominated``) has no figure of its own, and no row.
    """
    schemes: dict[str, Scheme] = {scheme.name: scheme for table in tables for scheme in table.schemes}
    rows: dict[tuple[str, ...], str] = {}  # target, scenario, unit and figures -> requirement
    for table in tables:
        for (requirement, scenario, unit), of_schemes in _figures(table).items():
            if all(len(of_one) == 1 for of_one in of_schemes.values()):
                shown = [of_schemes.get(name, [NOT_MEASURED])[0] for name in schemes]
                rows.setdefault((table.target.name, scenario, unit, *shown), requirement)
    cells = [
        [f"{target}.{requirement}{f', {unit}' if unit else ''}", scenario, *shown]
        for (target, scenario, unit, *shown), requirement in rows.items()
    ]
    heads = ["requirement", "scenario", *(scheme.label for scheme in schemes.values())]
    return markdown_table(heads, cells) + "\n"


def _figures(table: TargetTable) -> dict[tuple[str, str, str], dict[str, list[str]]]:
    """Return requirement, scenario and unit to scheme to its figures: one, or one beside each peer."""
    figures: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for scheme in table.schemes:
        for one in table.judgements(scheme.name):
            of_schemes = figures.setdefault((one.requirement, one.scenario, one.unit), {})
            of_schemes.setdefault(scheme.name, []).append(one.shown)
    return figures
