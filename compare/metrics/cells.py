"""The cells of a comparison: the metrics of all stored runs, for each scenario and scheme."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.experiment.experiment import Experiment, Run, flows_under_test
from compare.experiment.store import DamagedRun, Store
from compare.metrics.chain_metrics import chain_metrics
from compare.metrics.distribution import Distribution
from compare.metrics.flow_metrics import METRICS, flow_metrics, goodput_mbps
from compare.metrics.group_metrics import Group, find_groups, group_metrics
from compare.metrics.metric import Metric
from compare.metrics.network_metrics import network_metrics
from compare.metrics.sharing import sharing_metrics
from env.errors import UserError
from env.lab import FlowResult, RunResult
from env.network.chain import Chain
from env.network.scenario import Scenario
from env.network.schemes import Scheme


def _no_result(seed: int) -> RunResult:
    raise UserError(f"there is no run of seed {seed}")


@dataclass
class Cell:
    """All seeds of one scenario and scheme.

    seeds: those with a result. failed, damaged: seed to error. missing: seeds without a result, or with a damaged one.
    metrics: first those of the first flow under test, then of groups of flows, of the network and of sharing. values:
    metric to one value per seed. groups: of the scenario's flows; empty for a single bulk flow. under_test: for each
    flow, whether it has the scheme. rtt, latency: of the flows under test, over all seeds. goodputs: for each seed,
    the goodput of each flow, Mbit/s. result: reads the run of a seed.
    """

    scenario: Scenario
    scheme: Scheme
    seeds: list[int] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    damaged: dict[int, str] = field(default_factory=dict)
    metrics: list[Metric] = field(default_factory=lambda: list(METRICS))
    values: dict[str, list[float]] = field(default_factory=lambda: {metric.name: [] for metric in METRICS})
    groups: list[Group] = field(default_factory=list)
    under_test: list[bool] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    rtt: Distribution = field(default_factory=Distribution)
    latency: Distribution = field(default_factory=Distribution)
    goodputs: list[list[float]] = field(default_factory=list)
    result: Callable[[int], RunResult] = field(default=_no_result, repr=False)

    @property
    def flows(self) -> list[FlowResult]:
        """The flows of the first seed's run; reads the file each time."""
        return self.result(self.seeds[0]).flows if self.seeds else []


def read_cells(experiment: Experiment, store: Store) -> list[Cell]:
    """Return the cells, scheme by scheme within each scenario, with the metrics of every stored run.

    Raises UserError for a run that lacks samples or columns.
    """
    cells = []
    for scenario in experiment.scenarios:
        under_test = flows_under_test(scenario)
        for scheme in experiment.schemes:
            load = functools.partial(_load, store, scenario, scheme)
            cell = Cell(scenario, scheme, under_test=under_test, result=load)
            for seed in range(1, experiment.seeds + 1):
                _add(cell, Run(scenario, scheme, seed), store)
            cells.append(cell)
    return cells


def _load(store: Store, scenario: Scenario, scheme: Scheme, seed: int) -> RunResult:
    return store.load(Run(scenario, scheme, seed)) or _no_result(seed)


def _add(cell: Cell, run: Run, store: Store) -> None:
    try:
        result = store.load(run)
    except DamagedRun as damage:
        cell.missing.append(run.seed)
        cell.damaged[run.seed] = str(damage)
        return
    if result is None:
        error = store.load_error(run)
        if error is None:
            cell.missing.append(run.seed)
        else:
            cell.failed[run.seed] = error
        return
    flows, by_client = result.flows, cell.scenario.chain is None
    try:
        values = flow_metrics(flows[cell.under_test.index(True)])
        run_metrics = group_metrics(flows, cell.under_test, by_client=by_client)
        run_metrics |= _network_metrics(result, cell)
        run_metrics |= sharing_metrics(flows, cell.scenario)
    except (KeyError, IndexError, ValueError) as error:
        raise UserError(f"{store.folder / store.run_name(run)}: {error}") from error
    if not cell.seeds:
        cell.environment = result.environment
        cell.groups = find_groups(flows, cell.under_test, by_client=by_client)
        cell.metrics += run_metrics
        cell.values |= {metric.name: [] for metric in run_metrics}
    cell.seeds.append(run.seed)
    cell.goodputs.append([goodput_mbps(flow) for flow in flows])
    for flow in itertools.compress(flows, cell.under_test):
        cell.rtt.add(flow.sender["srtt_us"])
        if flow.latency is not None:
            cell.latency.add_histogram(flow.latency.histogram)
    for name, value in (values | {metric.name: value for metric, value in run_metrics.items()}).items():
        cell.values[name].append(value)


def _network_metrics(result: RunResult, cell: Cell) -> dict[Metric, float]:
    network = cell.scenario.network
    if isinstance(network, Chain):
        return chain_metrics(result, network, cell.under_test)
    return network_metrics(result, network, cell.scenario.duration_s, cell.under_test)


def by_scenario(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each scenario, in order."""
    scenarios: dict[str, list[Cell]] = {}
    for cell in cells:
        scenarios.setdefault(cell.scenario.name, []).append(cell)
    return scenarios


def schemes_of(cells: Sequence[Cell]) -> list[Scheme]:
    """Return the schemes of the cells, each once, in order."""
    return list({cell.scheme.name: cell.scheme for cell in cells}.values())
