"""The figures that targets require: one value per run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compare.experiment.experiment import flows_under_test
from compare.metrics.cells import Cell
from compare.metrics.flow_metrics import goodput_mbps
from compare.metrics.metric import finite_mean
from compare.metrics.sharing import fair_shares_mbps
from compare.statistics.winning_rates import single_flow_scores
from compare.targets.evidence import Figure
from compare.targets.response import jain_later, jain_when_settled, round_trips_to_drain, round_trips_to_use
from env.lab import RunResult
from env.network.capacity import network_capacity
from env.network.scenario import Scenario


def metric(name: str) -> Figure:
    """Return the figure that is a metric of the comparison (docs/reference/comparison-metrics.md)."""
    return lambda cell: cell.values.get(name, [])


def per_run(measure: Callable[[RunResult, Scenario], float]) -> Figure:
    """Return the figure that is a function of a run's result."""
    return lambda cell: [measure(cell.result(seed), cell.scenario) for seed in cell.seeds]


def utilisation_after_loss(cell: Cell) -> Sequence[float]:
    """Return the utilisation, % of the rate that random loss leaves."""
    left = 1 - cell.scenario.network_path().loss_pct / 100
    return [value / left for value in cell.values.get("utilisation", [])]


def idle(cell: Cell) -> Sequence[float]:
    """Return the share of the time in which the link is idle, %."""
    return [100 - value for value in cell.values.get("utilisation", [])]


def unused(cell: Cell) -> Sequence[float]:
    """Return what is not used of the rate that random loss leaves, %."""
    return [100 - value for value in utilisation_after_loss(cell)]


def single_flow(cell: Cell) -> Sequence[float]:
    """Return goodput^2 over mean RTT, (Mbit/s)^2 / ms, as the winning rate of single flows has it."""
    return list(single_flow_scores(cell))


def uneven(result: RunResult, scenario: Scenario) -> float:
    """Return 1 - Jain index from 20 to 40 round trips after the last start."""
    return 1 - jain_when_settled(result, scenario)


def competing_share(result: RunResult, scenario: Scenario) -> float:
    """Return the mean of goodput over fair share of the flows that are not under test."""
    return _share(result, scenario, tested=False)


def own_share(result: RunResult, scenario: Scenario) -> float:
    """Return the mean of goodput over fair share of the flows under test."""
    return _share(result, scenario, tested=True)


def _share(result: RunResult, scenario: Scenario, *, tested: bool) -> float:
    fair = fair_shares_mbps(result.flows, network_capacity(scenario.network_path(), scenario.duration_s))
    return finite_mean(
        goodput_mbps(flow) / share
        for flow, share, under_test in zip(result.flows, fair, flows_under_test(scenario), strict=True)
        if under_test is tested and share > 0
    )


# those that are no metric of the comparison, by the name that configs/targets.yaml has for them
FIGURES: dict[str, Figure] = {
    "utilisation_after_loss": utilisation_after_loss,
    "idle": idle,
    "unused": unused,
    "single_flow": single_flow,
    "uneven": per_run(uneven),
    "competing_share": per_run(competing_share),
    "own_share": per_run(own_share),
    "jain_when_settled": per_run(jain_when_settled),
    "jain_later": per_run(jain_later),
    "round_trips_to_drain": per_run(round_trips_to_drain),
    "round_trips_to_use": per_run(round_trips_to_use),
}
