"""The target fresh: the judged model draws its scenarios, and its requirements are by kind of path and by rival."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.command.targets import measure_targets
from compare.experiment.config import CompareConfig
from compare.experiment.models import model_sha256
from compare.statistics.verdict import Verdict
from compare.targets.catalogue import TARGETS, find_targets
from compare.targets.catalogue.held_out import fresh_scenarios, held_out_scenarios
from compare.targets.catalogue.winning import kind_of
from compare.targets.evidence import Evidence
from env.errors import UserError
from env.network.schemes import find_schemes
from env.profile.held_out import is_held_out
from export.checkpoint import load
from tests.support.results import made_cells

FRESH = TARGETS["fresh"]
SCENARIOS = fresh_scenarios()


def sha256(scheme: str) -> str:
    return model_sha256(find_schemes([scheme])[0])


def test_a_model_draws_its_own_scenarios() -> None:
    mixed, other = (FRESH.drawn_by(digest).make() for digest in ("ab" * 32, "cd" * 32))
    assert mixed == FRESH.drawn_by("ab" * 32).make()
    paths = [{scenario.network_path() for scenario in drawn} for drawn in (mixed, other, held_out_scenarios())]
    assert not paths[0] & paths[1]
    assert not paths[0] & paths[2]
    assert all(map(is_held_out, paths[0]))
    assert TARGETS["loss"].drawn_by("ab" * 32) is TARGETS["loss"]


def test_the_weights_decide_and_not_the_name() -> None:
    assert sha256("ndm@datasets/models/mixed") == load(Path("datasets/models/mixed"))["sha256"]
    assert sha256("ndm@rules/one_neuron.yaml") != sha256("ndm@rules/steep_neuron.yaml")
    assert len(sha256("ndm@untrained-2")) == 64


def test_all_leaves_it_out() -> None:
    assert FRESH not in find_targets("all")
    assert find_targets(["fresh"]) == [FRESH]


@pytest.mark.parametrize("schemes", [["cubic", "bbr"], ["ndm", "ndm@untrained", "cubic"]])
def test_exactly_one_model_draws(schemes: list[str], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"target fresh has the scenarios of one model, and schemes has [02]:"):
        measure_targets(CompareConfig(targets=["fresh"], schemes=schemes, output_dir=str(tmp_path)))


def verdicts(ndm: dict[str, float], cubic: dict[str, float]) -> dict[str, Verdict]:
    """The verdicts of single flows whose goodput on each kind of path is ndm and cubic."""
    cells = []
    for scenario in SCENARIOS:
        if len(scenario.flows) == 1:
            kind = kind_of(scenario)
            values = {"ndm": ndm[kind], "cubic": cubic[kind]}
            cells += made_cells(scenario, {k: {"goodput": [v], "rtt_mean": [20.0]} for k, v in values.items()})
    names = ("single", "clean", "lossy", "jittery", "traced")
    wanted = [one for one in FRESH.requirements if one.name in names]
    return {one.name: one.judge(Evidence(cells), "ndm")[0].verdict for one in wanted}


def test_each_kind_counts() -> None:
    best, worst = dict.fromkeys(("clean", "lossy", "jittery", "traced"), 10.0), dict.fromkeys(("clean", "lossy"), 5.0)
    worst |= {"jittery": 5.0, "traced": 5.0}
    assert set(verdicts(best, worst).values()) == {Verdict.MET}
    # the lossy paths are a fifth: the highest rate of all, but below 85 %
    found = verdicts(best | {"lossy": 1.0}, worst)
    assert {name for name, verdict in found.items() if verdict is not Verdict.MET} == {"single", "lossy"}
    assert found["lossy"] is Verdict.MISSED


def test_the_rivals_are_those_of_the_draw() -> None:
    names = {one.name for one in FRESH.requirements if one.name.startswith("beside_")}
    rivals = {flow.scheme for scenario in SCENARIOS for flow in scenario.flows[1:]}
    assert names == {f"beside_{rival}" for rival in rivals}
