"""What is written about targets, and the winning rate as a requirement."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest

from compare.metrics.cells import Cell
from compare.statistics.verdict import Verdict
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.last_lines import last_lines
from compare.targets.section import target_section
from compare.targets.tables import COLUMNS, TargetTable, targets_csv
from env.lab import FlowResult, RunResult
from env.network.path import Path
from env.network.scenario import Flow
from tests.support.results import made_cells, made_scenario


def loss_table(ndm: float, reno: float, other: float | None = None) -> TargetTable:
    """The loss target with one utilisation for each scheme, another one for ndm in the last scenario."""
    cells: list[Cell] = []
    scenarios = TARGETS["loss"].make()
    for scenario in scenarios:
        utilisation = other if other is not None and scenario is scenarios[-1] else ndm
        values = {"ndm": {"utilisation": [utilisation] * 3}, "reno": {"utilisation": [reno] * 3}}
        cells += made_cells(scenario, values)
    return TargetTable(TARGETS["loss"], Evidence(cells))


def shared_flow() -> FlowResult:
    """A flow with half of the link of made_scenario() for its 10 s."""
    half_mbps = Path().rate_mbps * 1448 / 1514 / 2
    return FlowResult(scheme="made", start_s=0.0, duration_s=10.0, received_bytes=math.ceil(half_mbps * 1e6 / 8 * 10))


def winning_table(goodputs: Mapping[str, Mapping[str, float]]) -> TargetTable:
    """goodputs: scenario to scheme to goodput, at one RTT. In two more scenarios each scheme leaves Cubic half."""
    half_each = RunResult(duration_s=10.0, flows=[shared_flow(), shared_flow()])
    cells: list[Cell] = []
    for name, of_schemes in goodputs.items():
        values = {scheme: {"goodput": [mbps], "rtt_mean": [50.0]} for scheme, mbps in of_schemes.items()}
        cells += made_cells(made_scenario(name), values)
    for name in ("x", "y"):
        scenario = replace(made_scenario(name), flows=[Flow(), Flow(scheme="cubic")])
        shares = {scheme: {"share_cubic": [1.0]} for scheme in next(iter(goodputs.values()))}
        beside = made_cells(scenario, shares)
        for cell in beside:
            cell.result = partial(_return, half_each)
        cells += beside
    return TargetTable(TARGETS["winning"], Evidence(cells))


def test_requirement_must_be_met_in_every_scenario() -> None:
    ((ndm, [met]), (reno, [missed])) = loss_table(97, 30).rows()
    assert (ndm.name, met.verdict) == ("ndm", Verdict.MET)
    assert (reno.name, missed.verdict) == ("reno", Verdict.MISSED)
    ((_, [partly]), _) = loss_table(97, 30, other=49).rows()
    assert partly.verdict is Verdict.MISSED
    assert partly.text == "5 of 6; loss/2pct_far: 50 (no spread) ≥ 90: missed by 44.4 %"


def test_markdown_has_every_scheme_and_scenario() -> None:
    text = target_section(loss_table(97, 30, other=49)).markdown()
    lines = text.splitlines()
    assert "| NDM | 5 of 6; loss/2pct_far: 50 (no spread) ≥ 90: missed by 44.4 % |" in lines
    assert any(line.startswith("| Reno | 0 of 6;") for line in lines)
    details = [line for line in lines if "| ≥ 90 | 9" in line]
    assert sum("| loss/" in line for line in details) == 6
    assert sum(line.endswith(" | met |") for line in details) == 5
    assert "**6 of 6; " in target_section(loss_table(97, 30)).markdown()


def test_csv_has_a_row_per_judgement() -> None:
    rows = list(csv.DictReader(io.StringIO(targets_csv([loss_table(97, 30)]))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 12
    first = rows[0]
    assert (first["target"], first["requirement"], first["scheme"]) == ("loss", "used", "ndm")
    assert (first["met"], first["at_least"], first["at_most"], first["n"]) == ("yes", "90", "", "3")
    assert {row["met"] for row in rows if row["scheme"] == "reno"} == {"no"}


def test_last_lines_count_the_met_requirements() -> None:
    tables = [loss_table(97, 30), winning_table({"a": {"ndm": 9, "reno": 10}, "b": {"ndm": 5, "reno": 10}})]
    assert last_lines(tables, ["ndm", "reno"]) == [
        "targets met by ndm: 3 of 5: loss.used, winning.friendliness, winning.left "
        "(1 requirement not measured: winning.left_shallow)",
        "targets met by reno: 3 of 5: winning.single, winning.friendliness, winning.left "
        "(1 requirement not measured: winning.left_shallow)",
    ]
    alone = TargetTable(
        TARGETS["loss"], Evidence(made_cells(TARGETS["loss"].make()[0], {"ndm": {"utilisation": [99.0]}}))
    )
    assert last_lines([alone], ["ndm"]) == ["targets met by ndm: 0 of 1: none (1 requirement not measured: loss.used)"]


def test_the_winning_rate_must_be_the_highest() -> None:
    goodputs = {
        "a": {"ndm": 10.0, "reno": 10.0, "bbr": 5.0},
        "b": {"ndm": 10.0, "reno": 5.0, "bbr": 10.0},
        "c": {"ndm": 5.0, "reno": 10.0, "bbr": 5.0},
    }
    table = winning_table(goodputs)
    single, friendliness, left, _ = table.judgements("ndm")
    assert single.figure is not None
    assert single.bound is not None
    assert (single.figure.mean, single.bound.low) == pytest.approx((200 / 3, 200 / 3))
    assert (single.verdict, single.bound.source, single.scenario) == (Verdict.OPEN, "reno", "3 scenarios of one flow")
    assert single.statement == "open; – retransmits per MB; 66.7 % up to 100 per MB"
    assert (friendliness.verdict, friendliness.scenario) == (Verdict.MET, "2 scenarios with a competing flow")
    assert (left.verdict, left.scenario) == (Verdict.MET, "2 scenarios with a deep buffer")
    assert [one.verdict for one in table.judgements("bbr")][:2] == [Verdict.OPEN, Verdict.MET]


def test_models_do_not_take_scenarios_from_each_other() -> None:
    """Beside a second, better model the first one still wins what it wins alone among the algorithms."""
    goodputs = {
        "a": {"ndm": 10.0, "ndm@runs/b": 20.0, "reno": 9.0},
        "b": {"ndm": 10.0, "ndm@runs/b": 20.0, "reno": 9.0},
    }
    table = winning_table(goodputs)
    for model in ("ndm", "ndm@runs/b"):
        single = table.judgements(model)[0]
        assert single.figure is not None
        assert (single.figure.mean, single.verdict) == (100.0, Verdict.MET)


def test_nobody_wins_alone() -> None:
    table = winning_table({"a": {"ndm": 10.0}, "b": {"ndm": 10.0}})
    assert {one.verdict for one in table.judgements("ndm")[:2]} == {Verdict.NOT_MEASURED}


@pytest.mark.parametrize(("received", "verdict"), [([0.51, 0.6], Verdict.MET), ([0.51, 0.49], Verdict.MISSED)])
def test_most_competing_flows_keep_half_of_their_share(received: list[float], verdict: Verdict) -> None:
    """One of two scenarios is less than 95 %; the scheme itself may take whatever it wants."""
    cells: list[Cell] = []
    for name, share in zip(("x", "y"), received, strict=True):
        scenario = replace(made_scenario(name), flows=[Flow(), Flow(scheme="cubic")])
        (cell,) = made_cells(scenario, {"ndm": {"share_cubic": [1.0]}})
        competing = replace(shared_flow(), received_bytes=round(share * shared_flow().received_bytes))
        result = RunResult(duration_s=10.0, flows=[shared_flow(), competing])
        cell.result = partial(_return, result)
        cells.append(cell)
    judgements = TargetTable(TARGETS["winning"], Evidence(cells)).judgements("ndm")
    (left,) = (one for one in judgements if one.requirement == "left")
    assert left.verdict is verdict


def _return(result: RunResult, _: int) -> RunResult:
    return result
