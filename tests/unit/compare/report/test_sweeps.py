"""The figures of a sweep, from stored runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import plotly.graph_objects as go

from compare.experiment.changes import read_changes
from compare.experiment.experiment import plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.metrics.cells import read_cells
from compare.report import render_markdown, render_report
from compare.report.sweeps import sweep_figures
from tests.support.report import CheckedPage, comparison
from tests.support.results import recorded


def swept(folder: Path, **changes: str) -> Store:
    """Store a recorded run in all places, with a goodput that rises with the seed."""
    store = Store(folder)
    experiment = plan("bottleneck", ["cubic", "ndm"], 3, None, 50, changes=read_changes({"path": changes}))
    with store.claim(experiment):
        for run in experiment.runs():
            result = recorded()
            result.flows[0].received_bytes += 1_000_000 * run.seed
            store.save(run, pack(result))
    return store


def test_a_line_per_scheme_with_its_intervals(tmp_path: Path) -> None:
    store = swept(tmp_path, rate_mbps="100,1,10")
    experiment = store.experiment()
    (sweep,) = sweep_figures(experiment.sweep, read_cells(experiment, store))
    assert sweep.title == "bottleneck"
    goodput = next(figure for figure in sweep.figures if figure.title == "Goodput over rate_mbps")
    go.Figure(goodput.spec)  # plotly checks every key
    assert [trace["meta"] for trace in goodput.spec["data"]] == ["cubic", "ndm"]
    for trace in goodput.spec["data"]:
        assert trace["x"] == [1, 10, 100]
        assert len(trace["y"]) == 3
        assert min(trace["error_y"]["array"]) > 0
    assert goodput.spec["layout"]["xaxis"]["type"] == "log"
    assert goodput.spec["layout"]["xaxis"]["title"]["text"] == "rate_mbps, Mbit/s"
    assert "at 100" in goodput.alternative


def test_each_value_of_a_second_field_has_its_figures(tmp_path: Path) -> None:
    store = swept(tmp_path, qdisc="fq_codel,pfifo", buffer_bdp="0.5,2")
    experiment = store.experiment()
    sweeps = sweep_figures(experiment.sweep, read_cells(experiment, store))
    assert [sweep.title for sweep in sweeps] == ["bottleneck, buffer_bdp 0.5", "bottleneck, buffer_bdp 2"]
    figure = sweeps[0].figures[0]
    assert figure.spec["layout"]["xaxis"]["type"] == "category"
    assert figure.spec["data"][0]["x"] == ["fq_codel", "pfifo"]


def test_the_report_shows_the_sweep(tmp_path: Path) -> None:
    store = swept(tmp_path, rate_mbps="1,10")
    html = render_report(comparison(store))
    page = CheckedPage()
    page.feed(html)
    assert not page.open
    drawn = json.loads(re.findall(r'id="figures-sweeps">(.*?)</script>', html, re.DOTALL)[0])
    assert html.count('data-of="figures-sweeps"') == len(drawn) > 2
    assert "scenario=bottleneck+rate_mbps" not in html + render_markdown(comparison(store)), "no such command"
