"""Runs of another comparison are taken only where nothing that they depend on has changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from compare.experiment.experiment import Experiment, plan
from compare.experiment.models import module_key
from compare.experiment.reuse import check_reusable, reused_runs
from compare.experiment.run_files import pack
from compare.experiment.store import EXPERIMENT, Store
from env.errors import UserError
from tests.support.results import recorded

BINARIES = {"lab kernel": "1", "traffic program": "2", "traffic module": "3", module_key("ndm"): "4"}


def stored(folder: Path, experiment: Experiment) -> Store:
    """A folder with all runs of an experiment."""
    store = Store(folder)
    folder.mkdir()
    (folder / EXPERIMENT).write_text(json.dumps(experiment.identity()))
    for run in experiment.runs():
        store.save(run, pack(recorded()))
    return store


def before() -> Experiment:
    return replace(plan(["stress", "compete/cubic_1v1"], ["cubic", "ndm"], 2, None, 50), binaries=BINARIES)


def taken(tmp_path: Path, now: Experiment) -> set[tuple[str, str, int]]:
    """The runs that are done after taking those of before()."""
    stored(tmp_path / "before", before())
    store = Store(tmp_path / "now")
    number = reused_runs(now, store, tmp_path / "before")
    done = {(run.scenario.name, run.scheme.name, run.seed) for run in now.runs() if store.is_done(run)}
    assert number == len(done)
    return done


def test_a_new_module_leaves_the_runs_of_the_others(tmp_path: Path) -> None:
    done = taken(tmp_path, replace(before(), binaries=BINARIES | {module_key("ndm"): "5"}, seeds=3))
    assert done == {(scenario, "cubic", seed) for scenario in ("stress", "compete/cubic_1v1") for seed in (1, 2)}


def test_runs_beside_a_changed_scheme_are_made_again(tmp_path: Path) -> None:
    now = replace(before(), binaries=BINARIES | {module_key("cubic"): "a module of its own"})
    assert taken(tmp_path, now) == {("stress", "ndm", 1), ("stress", "ndm", 2)}


@pytest.mark.parametrize("name", ["lab kernel", "traffic program", "traffic module"])
def test_another_lab_leaves_nothing(tmp_path: Path, name: str) -> None:
    assert not taken(tmp_path, replace(before(), binaries=BINARIES | {name: "another"}))


def test_other_samples_or_paths_leave_nothing(tmp_path: Path) -> None:
    assert not taken(tmp_path, replace(before(), sample_ms=20))


def test_another_scenario_of_the_name_is_another(tmp_path: Path) -> None:
    longer = tuple(replace(scenario, duration_s=99.0) for scenario in before().scenarios[:1])
    assert {scenario for scenario, _, _ in taken(tmp_path, replace(before(), scenarios=longer))} == set()


def test_runs_of_the_store_stay(tmp_path: Path) -> None:
    stored(tmp_path / "before", before())
    assert reused_runs(before(), stored(tmp_path / "now", before()), tmp_path / "before") == 0


def test_damaged_runs_are_made_again(tmp_path: Path) -> None:
    stored(tmp_path / "before", before())
    (tmp_path / "before/runs/stress/cubic/seed-001/sender.parquet").write_bytes(b"damaged")
    assert reused_runs(before(), Store(tmp_path / "now"), tmp_path / "before") == len(before().runs()) - 1


def test_a_folder_without_a_comparison(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not the folder of a comparison"):
        check_reusable(tmp_path)
