"""From stored runs to numbers: the cells of the comparison and summary.csv."""

from __future__ import annotations

import csv
import functools
import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compare.errors import CompareError
from compare.experiment.experiment import Experiment, Run, flows_under_test
from compare.experiment.schemes import Scheme
from compare.experiment.store import DamagedRun, Store
from compare.metrics.distribution import Distribution
from compare.metrics.group_metrics import Group, find_groups, goodput_mbps, group_metrics
from compare.metrics.metrics import METRICS, Metric, column, flow_metrics
from compare.metrics.network_metrics import network_metrics
from compare.metrics.published import PublishedRun
from compare.metrics.sharing import sharing_metrics
from compare.statistics.statistics import Estimate, estimate, inside_spread
from env.network.scenario import Scenario

SUMMARY_COLUMNS = ("scenario", "scheme", "metric", "unit", "mean", "lo", "hi", "n")


def _no_result(seed: int) -> dict[str, Any]:
    raise CompareError(f"there is no run of seed {seed}")


@dataclass
class Cell:
    """All seeds of one scenario and scheme.

    metrics: what was measured, those of the first flow under test before those of groups of flows, of the network and
    of how flows share it. values: metric to one value per good seed. groups: of the scenario's flows, empty where there
    is only one. flows: those of one run, to draw; under_test: which of them have the scheme. rtt, latency: of the flows
    under test, over all seeds.
    goodputs: of each flow, Mbit/s, seed by seed.
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
    result: Callable[[int], dict[str, Any]] = field(default=_no_result, repr=False)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows of the first good seed's run, to draw; read anew each time."""
        return self.result(self.seeds[0])["flows"] if self.seeds else []

    @property
    def example(self) -> dict[str, Any] | None:
        """The first flow under test of the run to draw."""
        return self.flows[self.under_test.index(True)] if self.seeds else None

    def estimates(self) -> dict[str, Estimate]:
        """Return the estimate of each metric that has a value."""
        return {name: estimate(values) for name, values in self.values.items() if any(np.isfinite(v) for v in values)}


@dataclass(frozen=True)
class Beside:
    """A published figure beside the measured ones."""

    scenario: str
    scheme: str
    run: int
    figure: str
    unit: str
    published: float
    measured: Estimate | None

    @property
    def inside(self) -> bool | None:
        """Whether the published single run lies inside the spread of our seeds; None without a measurement."""
        return None if self.measured is None else inside_spread(self.published, self.measured)


def read_cells(experiment: Experiment, store: Store) -> list[Cell]:
    """Read every run that is there and compute its metrics, scenario by scenario; raises CompareError."""
    cells = []
    for scenario in experiment.scenarios:
        under_test = flows_under_test(scenario)
        for scheme in experiment.schemes:
            cell = Cell(
                scenario, scheme, under_test=under_test, result=functools.partial(_load, store, scenario, scheme)
            )
            for seed in range(1, experiment.seeds + 1):
                _add(cell, Run(scenario, scheme, seed), store)
            cells.append(cell)
    return cells


def _load(store: Store, scenario: Scenario, scheme: Scheme, seed: int) -> dict[str, Any]:
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
    flows = result["flows"]
    try:
        values = flow_metrics(flows[cell.under_test.index(True)])
        others = group_metrics(flows, cell.under_test)
        others |= network_metrics(result, cell.scenario.network(), cell.scenario.duration_s, cell.under_test)
        others |= sharing_metrics(flows, cell.scenario)
    except (KeyError, IndexError, ValueError) as error:
        raise CompareError(f"{store.folder / store.run_name(run)}: {error}") from error
    if not cell.seeds:
        cell.environment = result.get("environment", {})
        cell.groups = find_groups(flows, cell.under_test)
        cell.metrics += others
        cell.values |= {metric.name: [] for metric in others}
    cell.seeds.append(run.seed)
    cell.goodputs.append([goodput_mbps(flow) for flow in flows])
    for flow in itertools.compress(flows, cell.under_test):
        cell.rtt.add(column(flow["sender"], "srtt_us"))
        cell.latency.add_histogram(flow.get("latency", {}).get("histogram", []))
    for name, value in (values | {metric.name: value for metric, value in others.items()}).items():
        cell.values[name].append(value)


def summary_csv(cells: list[Cell]) -> str:
    """Return the text of summary.csv: a row per scenario, scheme and metric, in a fixed order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SUMMARY_COLUMNS)
    for cell in cells:
        estimates = cell.estimates()
        for metric in cell.metrics:
            found = estimates.get(metric.name)
            if found is not None:
                numbers = ["" if value is None else f"{value:.6g}" for value in (found.mean, found.lo, found.hi)]
                writer.writerow([cell.scenario.name, cell.scheme.name, metric.name, metric.unit, *numbers, found.n])
    return text.getvalue()


def beside_published(cells: list[Cell], published: list[PublishedRun]) -> list[Beside]:
    """Return every published figure of the scenarios compared, those of schemes that were not measured included.

    A scenario whose duration was changed has none: the counts would not be comparable.
    """
    measured = {(cell.scenario.name, cell.scheme.name): cell for cell in cells}
    duration_s = {cell.scenario.name: cell.scenario.duration_s for cell in cells}
    units = {metric.name: metric.unit for metric in METRICS}
    rows = []
    for run in published:
        if duration_s.get(run.scenario) != run.tested_s:
            continue
        cell = measured.get((run.scenario, run.scheme))
        estimates = {} if cell is None else cell.estimates()
        for figure, metric, value in run.figures():
            rows.append(Beside(run.scenario, run.scheme, run.run, figure, units[metric], value, estimates.get(metric)))
    return rows
