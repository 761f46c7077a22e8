"""The report of a comparison as large as a whole one."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from compare.experiment.experiment import plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.metrics.cells import read_cells
from compare.report import Comparison, render_report
from compare.statistics.paired import compare_pairs
from env.lab import RunResult, Table
from env.network.schemes import SCHEMES
from tests.support.results import recorded


def lengthened(times: int) -> RunResult:
    """The recorded run, so many times one after the other."""
    result = recorded()
    flow = result.flows[0]
    step_s = flow.duration_s
    for side in ("sender", "receiver"):
        samples = getattr(flow, side)
        rows = np.tile(samples.rows, (times, 1))
        rows[:, 0] += step_s * np.repeat(np.arange(times), len(samples))
        setattr(flow, side, Table(samples.columns, rows))
    flow.duration_s = step_s * times
    return result


def test_a_large_report_is_small_and_quick(tmp_path: Path) -> None:
    """55 scenarios, 9 schemes, 10 seeds, of 40 s each with a sample every 50 ms: as much as a whole comparison."""
    store, experiment = Store(tmp_path), plan(["stress"], list(SCHEMES)[:9], 10, None, 50)
    store.save(experiment.runs()[0], pack(lengthened(8)))
    example = read_cells(experiment, store)[0]
    cells = []
    scenarios = tuple(replace(experiment.scenarios[0], name=f"made/{number}") for number in range(55))
    for scenario, scheme in itertools.product(scenarios, experiment.schemes):
        values = {
            name: [samples[0] * (1 + len(cells) / 500 + 0.01 * seed) for seed in range(10)]
            for name, samples in example.values.items()
        }
        of = replace(example, scenario=scenario, scheme=scheme, seeds=list(range(1, 11)), values=values)
        cells.append(replace(of, result=lambda _seed: example.result(1)))
    began = time.process_time()
    whole = replace(experiment, scenarios=scenarios)
    text = render_report(Comparison(whole, cells, compare_pairs(cells), {}, store.run_name))
    assert time.process_time() - began < 90
    assert len(text) < 20e6
