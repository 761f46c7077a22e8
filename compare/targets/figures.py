"""The figures that targets require: one value per run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compare.metrics.cells import Cell
from compare.metrics.group_metrics import goodput_mbps
from compare.metrics.sharing import fair_shares_mbps
from compare.targets.evidence import Figure
from env.lab import RunResult
from env.network.capacity import network_capacity
from env.network.scenario import UNDER_TEST, Scenario


def metric(name: str) -> Figure:
    """Return the figure that is a metric of the comparison (docs/reference/comparison-metrics.md)."""
    return lambda cell: cell.values.get(name, [])


def of_runs(measure: Callable[[RunResult, Scenario], float]) -> Figure:
    """Return the figure that is a function of a run's result."""
    return lambda cell: [measure(cell.result(seed), cell.scenario) for seed in cell.seeds]


def used_of_what_is_left(cell: Cell) -> Sequence[float]:
    """Return the utilisation, % of what random loss leaves of the link."""
    left = 1 - cell.scenario.network_path().loss_pct / 100
    return [value / left for value in cell.values.get("utilisation", [])]


def share_of_rival(result: RunResult, scenario: Scenario) -> float:
    """Return the mean, over the flows that are not under test, of goodput over fair share."""
    flows = result.flows
    fair = fair_shares_mbps(flows, network_capacity(scenario.network(), scenario.duration_s))
    schemes = [flow["scheme"] for flow in scenario.flows_with(UNDER_TEST)]
    shares = [
        goodput_mbps(flow) / share
        for flow, share, scheme in zip(flows, fair, schemes, strict=True)
        if scheme != UNDER_TEST and share > 0
    ]
    return sum(shares) / len(shares) if shares else math.nan
