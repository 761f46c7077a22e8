"""The table of goodputs: a row per scenario, a column per scheme or population of trained models."""

from __future__ import annotations

from collections.abc import Sequence

from compare.metrics.cells import Cell, by_scenario, schemes_of
from compare.statistics.estimates import estimate_of
from compare.statistics.numbers import number
from compare.targets.recipes import population
from env.markdown import markdown_table
from env.network.schemes import Scheme

NOT_MEASURED = "–"


def goodput_table(cells: Sequence[Cell]) -> str:
    """Return a Markdown table of mean goodputs of the first flow under test, Mbit/s.

    Models ``runs/.../NAME/NAME-SEED`` share the column NAME, in the order of the command line. Schemes that were not
    measured in every scenario (such as the reference of one target) are left out.
    """
    scenarios = by_scenario(cells)
    columns: dict[str, list[Scheme]] = {}
    for scheme in schemes_of(cells):
        if all(any(cell.scheme.name == scheme.name for cell in of_scenario) for of_scenario in scenarios.values()):
            columns.setdefault(population(scheme) or scheme.label, []).append(scheme)
    rows = []
    for scenario, of_scenario in scenarios.items():
        means = {cell.scheme.name: _mean_mbps(cell) for cell in of_scenario}
        values = [", ".join(means[scheme.name] for scheme in schemes) for schemes in columns.values()]
        rows.append([scenario, *values])
    return markdown_table(["goodput, Mbit/s", *columns], rows) + "\n"


def _mean_mbps(cell: Cell) -> str:
    goodput = estimate_of(cell, "goodput")
    return NOT_MEASURED if goodput is None else number(goodput.mean)
