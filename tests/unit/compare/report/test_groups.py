"""Scenarios with several flows, from the stored runs to terminal and report."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from compare.experiment.experiment import Experiment, plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.metrics.cells import Cell, read_cells
from compare.published.tcp_nv import load_tables, published_values
from compare.report import Comparison, render_report
from compare.report.groups import group_rows, shown_columns
from compare.report.terminal import print_tables
from compare.statistics.estimates import estimate_of
from compare.statistics.paired import compare_pairs
from compare.statistics.summary import summary_csv
from env.errors import UserError
from env.lab import RunResult
from env.lab.result import Latency
from env.network import scenario as scenario_module
from tests.support.report import CheckedPage
from tests.support.results import made_request_flow

TABLES = published_values(load_tables())


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """Two scenarios under the paper's names, two schemes, two seeds."""
    folder = tmp_path / "scenario"
    (folder / "nv").mkdir(parents=True)
    for name, flows in (("1s2c1fr", "[{}, {start_s: 1, duration_s: 2}]"), ("1s2c1fvrp", "[{}, {scheme: reno}]")):
        text = f"name: nv/{name}\nclaim: made <here>\nduration_s: 4\npath: {{rtt_ms: 1}}\nflows: {flows}\n"
        (folder / "nv" / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(scenario_module, "FOLDER", folder)
    return plan(["nv"], ["reno", "cubic"], 2, None, 50)


def stored(store: Store, experiment: Experiment) -> list[Cell]:
    for run in experiment.runs():
        factor = 1.0 if run.scheme.name == "reno" else 0.5
        flows = [
            made_request_flow(
                size_bytes=1 << 20, client=client, rate_mbps=factor * (4000 + 100 * run.seed), retransmits=2 * client
            )
            for client in (0, 1)
        ]
        flows[1].scheme = "reno"  # where it is not under test
        store.save(run, pack(RunResult(duration_s=4.0, flows=flows)))
    return read_cells(experiment, store)


def shown(folder: Path, experiment: Experiment, cells: list[Cell]) -> Comparison:
    return Comparison(experiment, cells, compare_pairs(cells), {}, Store(folder).run_name, TABLES)


def test_folder_stands_for_all_its_scenarios(tmp_path: Path, experiment: Experiment) -> None:
    assert [scenario.name for scenario in experiment.scenarios] == ["nv/1s2c1fr", "nv/1s2c1fvrp"]
    assert plan(["nv/"], ["reno"], 1, None, 50).scenarios == experiment.scenarios
    store = Store(tmp_path / "results")
    stored(store, experiment)
    assert (tmp_path / "results/runs/nv/1s2c1fr/reno/seed-002/sender.parquet").is_file()
    assert "/" not in experiment.default_name()


@pytest.mark.usefixtures("experiment")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["nv", "nv/1s2c1fr"], "given twice"),
        (["nw"], "did you mean nv.* and those of the folders nv; "),
        (["nv/1s2c1f"], "did you mean nv/1s2c1fr"),
    ],
)
def test_an_unknown_scenario_of_a_folder_is_named(names: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan(names, ["reno"], 1, None, 50)


def test_summary_has_flow_metrics_then_group_metrics(tmp_path: Path, experiment: Experiment) -> None:
    rows = [line.split(",") for line in summary_csv(stored(Store(tmp_path / "r"), experiment)).splitlines()]
    means = {row[2]: row for row in rows if row[:2] == ["nv/1s2c1fr", "cubic"]}
    assert list(means)[:2] == ["goodput", "retransmits"]
    assert means["rate"][3:] == ["Mbit/s", "4150", "", "", "2"]
    assert means["mean_latency"][3:5] == ["us", "100"]
    assert means["jain"][3:5] == ["1", "1"]
    against = {row[2]: row for row in rows if row[:2] == ["nv/1s2c1fvrp", "cubic"]}
    assert against["rate_under_test"][4] == against["rate_reno"][4] == "2075"
    assert "jain" not in against


def test_the_published_row_stands_below_ours(tmp_path: Path, experiment: Experiment) -> None:
    cells = stored(Store(tmp_path / "r"), experiment)
    rows = group_rows([cell for cell in cells if cell.scenario.name == "nv/1s2c1fr"], TABLES)
    assert [(row.cell.scheme.name, row.group.label) for row in rows] == [("reno", ""), ("cubic", "")]
    assert rows[1].published is not None
    assert rows[1].published.name == "1102.0"
    assert (rows[1].figure("rtt"), rows[1].figure("mean_latency")) == (790.0, None)
    assert "rate" in [column.name for column in shown_columns(rows)]
    text = io.StringIO()
    print_tables(Console(file=text, width=120), shown(tmp_path, experiment, cells))
    lines = [line.split() for line in text.getvalue().splitlines()]
    assert ["published", "9,300", "790", "0", "1,898", "752", "4,650", "4,650"] in lines
    assert any(line[:2] == ["cubic", "4,150"] and "10" in line for line in lines)


def test_the_report_shows_flows_groups_and_published_figures(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path / "r")
    html = render_report(Comparison(experiment, stored(store, experiment), [], {}, store.run_name, TABLES))
    page = CheckedPage()
    page.feed(html)
    assert not page.open
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert "made &lt;here&gt;" in html
    begins = [html.index(f'id="scenario/nv/{name}"') for name in ("1s2c1fr", "1s2c1fvrp")]
    section, against = html[begins[0] : begins[1]], html[begins[1] : html.index('id="environment"')]
    assert "table 2 of the TCP-NV paper, two clients and one flow per client" in section
    assert re.search(r"<td class=\"text\">1101.0</td>.*<td>771</td>", section)
    assert "under test" in against
    assert "published" not in against.lower()


def test_flows_and_their_goodputs_are_drawn(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path / "r")
    page = CheckedPage()
    page.feed(render_report(Comparison(experiment, stored(store, experiment), [], {}, store.run_name, TABLES)))
    alone, against = (json.loads(text) for text in page.json)
    bars = [trace for figure in alone for trace in figure["data"] if trace["type"] == "bar"]
    # 4 s at half of 4,100 and 4,200 Mbit/s, mean of both seeds; reno has all of it
    assert [(trace["meta"], trace["x"]) for trace in bars] == [
        ("reno", [4150]), ("reno", [4150]), ("cubic", [2075]), ("cubic", [2075])
    ]  # fmt: skip
    lines = [figure for figure in against if "x" in figure]  # one figure for each scheme
    assert len(lines) == 2
    dashes = [trace["line"]["dash"] for trace in lines[1]["data"]]
    assert dashes == ["solid"] * 3 + ["dash"] * 3  # the second flow is reno's in all runs
    assert "2 flows over one run of Cubic; flow 1 " in " ".join(page.alternatives)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_tables_are_never_cut_whatever_the_terminal(tmp_path: Path, experiment: Experiment, width: int) -> None:
    cells = stored(Store(tmp_path / "r"), experiment)
    text = io.StringIO()
    print_tables(Console(file=text, width=width), shown(tmp_path, experiment, cells))
    lines = text.getvalue().splitlines()
    assert all(len(line.rstrip()) <= width for line in lines)
    assert "…" not in text.getvalue()
    # rate, delay and losses of both tables are always there, and each part says which scheme its rows are of
    words = text.getvalue().split()
    assert words.count("p99") == words.count("rtt") == words.count("pct") == 2
    assert words.count("cubic") >= 2 * words.count("scheme") / 2
    assert words.count("scheme") == 2 or width < 80  # one table for each scenario
    assert words.count("cwnd") == words.count("latency") / 2 == 2 or width < 200  # every column


def test_the_first_of_unequal_runs_decides_nothing(tmp_path: Path, experiment: Experiment) -> None:
    """A seed without a single latency has no value there, and the others keep theirs."""
    store = Store(tmp_path / "r")
    stored(store, experiment)
    first = experiment.runs()[0]
    result = store.load(first)
    assert result is not None
    for flow in result.flows:
        flow.latency = Latency(count=0)
    store.save(first, pack(result))
    cell = read_cells(experiment, store)[0]
    assert estimate_of(cell, "rate").n == 2
    assert estimate_of(cell, "p99_latency").n == 1
