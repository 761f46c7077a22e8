"""The settings and the table of the attribution study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compare.metrics.cells import Cell
from compare.targets.catalogue import TARGETS
from compare.targets.catalogue.development import NUMBERS, development_scenarios
from compare.targets.evidence import Evidence
from compare.targets.tables import TargetTable
from studies.learning.attribution import KINDS, main, parse, rows_of
from tests.support.results import made_cells

DEVELOPMENT = TARGETS["development"]


def test_the_command_line_is_read(tmp_path: Path) -> None:
    given = parse([str(tmp_path), "--only", "linear", "no-drains", "--seeds", "4", "5"])
    assert (given.only, given.seeds, given.decisions, given.runs) == (["linear", "no-drains"], [4, 5], 2_000_000, 5)
    assert parse([str(tmp_path)]).only == list(KINDS)
    assert parse([str(tmp_path), "--only", "--beside", "ndm"]).only == [], "no training"


def test_unknown_kinds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([str(tmp_path), "--only", "lineer"])
    assert "linear" in capsys.readouterr().err


def test_a_folder_without_runs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--table"]) == 1
    assert f"{tmp_path} holds no measured policy" in capsys.readouterr().err


def test_a_kind_is_a_row_with_the_score_of_each_training() -> None:
    """Of a requirement for at most 10 % unused, three trainings leave 10, 8 and 9 %."""
    unused = next(one for one in DEVELOPMENT.requirements if one.name == "unused")
    cells: list[Cell] = []
    for scenario in development_scenarios()[NUMBERS["clean"] : NUMBERS["clean"] + NUMBERS["lossy"]]:
        left = 1 - scenario.network_path().loss_pct / 100
        trainings = {"linear/linear-1": [90, 90, 90], "linear/linear-2": [92, 92, 92], "linear/linear-3": [91, 91, 91]}
        values = {f"ndm@runs/{name}": {"utilisation": [left * one for one in used]} for name, used in trainings.items()}
        cells += made_cells(scenario, values | {"cubic": {"utilisation": [50.0, 50.0, 50.0]}})
    table = TargetTable(replace(DEVELOPMENT, requirements=(unused,)), Evidence(cells))
    rows = dict(rows_of(table, references=True))
    (score, kind), (worst, cubic) = sorted(rows.items(), reverse=True)
    assert score == pytest.approx(0.1)
    assert kind[0] == KINDS["linear"].about
    assert kind[2:] == ["", "0.000, 0.200, 0.100", "0.10"]
    assert kind[1].startswith("0.100 (0")
    assert (worst, cubic[:3]) == (-1.0, ["Cubic", "-1.000 (no spread)", ""])
    (_, beside), (_, cubic) = rows_of(table, rule=[-0.5, 0.1, 0.1], references=True)
    assert beside[2].startswith("0.200 ("), "0.1 - -0.1"
    assert cubic[2].startswith("-0.900 (")
    assert rows_of(table, rule=[-1.0, -1.0, -1.0], references=True)[1][1][2] == "", "the rule itself"
    assert [row[0] for _, row in rows_of(table, references=False)] == [kind[0]]
