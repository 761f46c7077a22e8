"""Cells made by hand: scenarios, schemes and values without a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from compare.experiment.schemes import find_schemes
from compare.metrics.cells import Cell
from compare.metrics.metric import Metric
from env.network.scenario import Flow, Scenario

GOODPUT = Metric("goodput", "Mbit/s", "Goodput", 1, "")


def made_scenario(name: str, flows: Sequence[Flow] = (Flow(),)) -> Scenario:
    return Scenario(name, "claim", 10.0, path={"topology": "router"}, flows=list(flows))


def made_cells(
    scenario: Scenario,
    values: Mapping[str, Mapping[str, Sequence[float | None]]],
    failed: Mapping[str, int] | None = None,
) -> list[Cell]:
    """values: scheme to metric to one value per seed from 1 on, None where the run failed."""
    cells = []
    for scheme, of_metrics in values.items():
        runs = max((len(found) for found in of_metrics.values()), default=0)
        lost = {seed for found in of_metrics.values() for seed, value in enumerate(found, 1) if value is None}
        kept = [seed for seed in range(1, runs + 1) if seed not in lost]
        cell = Cell(scenario, find_schemes([scheme])[0], seeds=kept)
        cell.failed = dict.fromkeys([*sorted(lost), *range(1, 1 + (failed or {}).get(scheme, 0))], "crashed")
        cell.metrics = [Metric(name, "", name, 1, "") for name in of_metrics]
        cell.values = {
            name: [math.nan if value is None else value for seed, value in enumerate(found, 1) if seed in kept]
            for name, found in of_metrics.items()
        }
        cells.append(cell)
    return cells
