"""One name for a model of the zoo, wherever a model may stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.errors import UserError
from export import pipeline, zoo
from export.checkpoint import all_runs, load
from export.selection import select, selected
from tests.support.runs import write_run


@pytest.mark.parametrize("name", ["mixed", "ndm@mixed", "datasets/models/mixed", "ndm@datasets/models/mixed"])
def test_every_form_finds_the_model(name: str) -> None:
    assert load(pipeline.find_policy(name))["sha256"] == load(zoo.ZOO / "mixed")["sha256"]


def test_zoo_holds_the_shipped_models() -> None:
    assert zoo.zoo_names() == ["eight", "mixed"]


def test_unknown_model_names_the_right_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mixde.*did you mean mixed\?.*the models of the zoo are eight, mixed"):
        zoo.find_run("mixde", tmp_path / "runs")
    with pytest.raises(UserError, match=r"mixde.*did you mean mixed.*the models of the zoo are eight, mixed"):
        pipeline.find_policy("ndm@mixde")
    with pytest.raises(UserError, match="the models of the zoo are eight, mixed"):
        zoo.find_checkpoint("nothing-like-it")


def test_name_of_a_run_too_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "mixed")
    with pytest.raises(UserError, match=r"give the path, datasets/models/mixed or .*runs/mixed"):
        zoo.find_run("mixed", tmp_path / "runs")


def test_population_of_a_model_hides_nothing(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "mixed" / "mixed-1")  # what `make -C studies models` leaves
    assert zoo.find_run("mixed", tmp_path / "runs") == zoo.ZOO / "mixed"
    assert zoo.find_run("mixed/mixed-1", tmp_path / "runs") == tmp_path / "runs" / "mixed" / "mixed-1"


def test_exported_model_leaves_the_zoo_alone(tmp_path: Path) -> None:
    source = zoo.ZOO / "mixed" / "checkpoint.pt"
    assert pipeline.default_output(source, tmp_path) == tmp_path / "zoo" / "mixed"


def test_module_takes_the_same_names(tmp_path: Path) -> None:
    select("ndm@mixed", tmp_path)
    assert selected(tmp_path) == "mixed"


def test_a_milestone_is_never_offered_as_a_run(tmp_path: Path) -> None:
    for run in ("office", "many/many-1", "office/milestones/000065536"):
        write_run(tmp_path / run)
    assert {str(run.relative_to(tmp_path)) for run in all_runs(tmp_path)} == {"office", "many/many-1"}
    with pytest.raises(UserError, match=r"the runs in .* are: many/many-1, office$"):
        load(tmp_path / "000065536")
    with pytest.raises(UserError, match=r"there is no run '000065536' in .*; the latest are (office|many-1), "):
        zoo.find_run("000065536", tmp_path)
