"""Scenarios with several flows, from the stored runs to terminal and report."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from compare.errors import CompareError
from compare.experiment import Experiment, plan
from compare.group_table import best_of, group_rows, shown_columns
from compare.published_tables import load_tables
from compare.report import Comparison, render_report
from compare.store import Store
from compare.summary import Cell, read_cells, summary_csv
from compare.terminal import print_tables
from env.network import scenario as scenario_module
from tests.compare.recorded import made_request_flow
from tests.compare.test_report import Checked

TABLES = load_tables()


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
        flows: list[dict[str, Any]] = [
            made_request_flow(
                size_bytes=1 << 20, client=client, rate_mbps=factor * (4000 + 100 * run.seed), retransmits=2 * client
            )
            for client in (0, 1)
        ]
        flows[1]["scheme"] = "reno"  # where it is not under test
        store.save(run, {"duration_s": 4.0, "flows": flows, "environment": {}})
    return read_cells(experiment, store)


def test_a_folder_of_scenarios_is_all_of_them_and_its_runs_lie_within_it(
    tmp_path: Path, experiment: Experiment
) -> None:
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
        (["nw"], "did you mean nv.*; nv stands for all of the folder"),
        (["nv/1s2c1f"], "did you mean nv/1s2c1fr"),
    ],
)
def test_an_unknown_scenario_of_a_folder_is_named(names: list[str], message: str) -> None:
    with pytest.raises(CompareError, match=message):
        plan(names, ["reno"], 1, None, 50)


def test_the_summary_has_the_metrics_of_all_flows_after_those_of_the_first(
    tmp_path: Path, experiment: Experiment
) -> None:
    rows = [line.split(",") for line in summary_csv(stored(Store(tmp_path / "r"), experiment)).splitlines()]
    mine = {row[2]: row for row in rows if row[:2] == ["nv/1s2c1fr", "cubic"]}
    assert list(mine)[:2] == ["goodput", "retransmits"]
    assert mine["rate"][3:] == ["Mbit/s", "4150", "4100", "4200", "2"]
    assert mine["mean_latency"][3:5] == ["us", "100"]
    assert mine["jain"][3:5] == ["1", "1"]
    against = {row[2]: row for row in rows if row[:2] == ["nv/1s2c1fvrp", "cubic"]}
    assert against["rate_under_test"][4] == against["rate_reno"][4] == "2075"
    assert "jain" not in against


def test_the_published_row_stands_below_ours(tmp_path: Path, experiment: Experiment) -> None:
    cells = stored(Store(tmp_path / "r"), experiment)
    rows = group_rows([cell for cell in cells if cell.scenario.name == "nv/1s2c1fr"], TABLES)
    assert [(row.cell.scheme.name, row.group.label) for row in rows] == [("reno", ""), ("cubic", "")]
    assert rows[1].published is not None
    assert rows[1].published.experiment == "1102.0"
    assert (rows[1].figure("rtt"), rows[1].figure("mean_latency")) == (790.0, None)
    rate = next(column for column in shown_columns(rows) if column.name == "rate")
    assert [best_of(rows, row, rate) for row in rows] == [True, False]
    text = io.StringIO()
    print_tables(Console(file=text, width=120), cells, TABLES)
    lines = [line.split() for line in text.getvalue().splitlines()]
    assert ["published", "752", "790", "9,300", "4,650", "4,650", "0", "1,898"] in lines
    assert any(line[:2] == ["cubic", "10"] and "4,150" in line for line in lines)


def test_the_report_shows_flows_groups_and_published_figures(tmp_path: Path, experiment: Experiment) -> None:
    cells = stored(Store(tmp_path / "r"), experiment)
    html = render_report(Comparison(experiment, cells, [], TABLES, {}))
    page = Checked()
    page.feed(html)
    assert not page.open
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert {"nv/1s2c1fr", "nv/1s2c1fvrp"} <= set(page.ids)
    assert page.tables == page.captions == 2
    assert "made &lt;here&gt;" in html
    section = html[html.index('<h2 id="nv/1s2c1fr">') : html.index('<h2 id="nv/1s2c1fvrp">')]
    assert section.count("<svg") == 2 + 2  # rate and cwnd, latency; the flows of either scheme
    assert "table 2 of the TCP-NV paper, two clients and one flow per client" in section
    assert re.search(r"<td class=\"text\">1101.0</td>.*<td>771</td>", section)
    against = html[html.index('<h2 id="nv/1s2c1fvrp">') :]
    assert "under test" in against
    assert "published" not in against[: against.index("Environment")].lower()


def test_the_first_of_unequal_runs_decides_nothing(tmp_path: Path, experiment: Experiment) -> None:
    """A seed without a single latency has no value there, and the others keep theirs."""
    store = Store(tmp_path / "r")
    stored(store, experiment)
    first = experiment.runs()[0]
    result = store.load(first)
    assert result is not None
    for flow in result["flows"]:
        flow["latency"] = {"count": 0, "histogram": []}
    store.save(first, result)
    cell = read_cells(experiment, store)[0]
    assert cell.estimates()["rate"].n == 2
    assert cell.estimates()["p99_latency"].n == 1
