"""The target for tuning: its paths are no tests, and its score counts margins within limits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from compare.metrics.cells import Cell
from compare.targets.catalogue import TARGETS
from compare.targets.catalogue.development import NUMBERS, development_scenarios
from compare.targets.evidence import Evidence
from compare.targets.last_lines import last_lines
from compare.targets.reach import idle_pct
from compare.targets.requirement import InEachScenario
from compare.targets.tables import BEST_MARGIN, WORST_MARGIN, TargetTable
from compare.targets.target import Target
from env.profile.held_out import BANDED, in_band
from tests.support.results import made_cells

DEVELOPMENT = TARGETS["development"]
SCENARIOS = development_scenarios()
QUICK = [one for one in SCENARIOS[: NUMBERS["clean"]] if idle_pct(one) < 5 / 1.5]  # slow start is a small part of these


def test_the_draw_is_fixed_and_of_every_kind() -> None:
    assert development_scenarios() == SCENARIOS
    kinds = [scenario.name.removeprefix("development/").partition("_")[0] for scenario in SCENARIOS]
    assert {kind: kinds.count(kind) for kind in kinds} == NUMBERS


def test_no_path_is_held_out_or_that_of_a_target() -> None:
    of_targets = [
        (path.rate_mbps, path.rtt_ms, path.buffer_bdp)
        for name in ("buffers", "loss", "fairness", "changes", "harm")
        for path in (scenario.network_path() for scenario in TARGETS[name].make())
    ]
    for scenario in SCENARIOS:
        path = scenario.network_path()
        assert not any(in_band(name, getattr(path, name)) for name in BANDED), scenario.name
        assert (path.rate_mbps, path.rtt_ms, path.buffer_bdp) not in of_targets, scenario.name


def test_steps_go_the_way_that_their_kind_says() -> None:
    for scenario in SCENARIOS:
        path = scenario.network_path()
        factors = [(step.rate_mbps or 0) / path.rate_mbps for step in path.steps]
        if "faster" in scenario.name:
            assert [factor > 1.9 for factor in factors] == [True]
        elif "slower" in scenario.name:
            assert [factor < 0.51 for factor in factors] == [True]
        else:
            assert factors == []


def test_requirements_cover_the_scenarios() -> None:
    judged = [one.scenarios for one in DEVELOPMENT.requirements if isinstance(one, InEachScenario)]
    assert {name for names in judged for name in names} == {scenario.name for scenario in SCENARIOS}


def of_quick() -> Target:
    requirement = DEVELOPMENT.requirements[0]
    assert isinstance(requirement, InEachScenario)
    return replace(DEVELOPMENT, requirements=(replace(requirement, scenarios=tuple(one.name for one in QUICK)),))


def scored(utilisation: float) -> tuple[Target, TargetTable]:
    """The requirement `idle` alone; each scenario with a short slow start has this utilisation, %."""
    target = of_quick()
    cells: list[Cell] = []
    for scenario in QUICK:
        cells += made_cells(scenario, {"ndm": {"utilisation": [utilisation] * 3}})
    return target, TargetTable(target, Evidence(cells))


@pytest.mark.parametrize(
    ("utilisation", "score"),
    [(95.0, 0.0), (94.0, -0.2), (95.5, 0.1), (50.0, WORST_MARGIN), (100.0, BEST_MARGIN), (math.nan, WORST_MARGIN)],
)
def test_the_score_is_the_margin_within_limits(utilisation: float, score: float) -> None:
    """At most 5 % idle: 6 % are a fifth too much."""
    _, table = scored(utilisation)
    assert table.score("ndm").mean == pytest.approx(score)


def test_each_seed_has_a_score() -> None:
    """The interval of the score is over the seeds: -0.2, 0 and the best margin."""
    cells: list[Cell] = []
    for scenario in QUICK:
        cells += made_cells(scenario, {"ndm": {"utilisation": [94.0, 95.0, 100.0]}})
    score = TargetTable(of_quick(), Evidence(cells)).score("ndm")
    assert (score.n, score.minimum, score.maximum) == (3, pytest.approx(-0.2), BEST_MARGIN)
    assert score.interval is not None


def test_a_threshold_of_another_scheme_counts_by_seed() -> None:
    """Two seeds with 0.8 and 1.25 times the threshold of that seed; the means would have no margin at all."""
    one = next(one for one in DEVELOPMENT.requirements if one.name == "single")
    cells: list[Cell] = []
    for scenario in SCENARIOS[: NUMBERS["clean"] + NUMBERS["lossy"]]:
        values = {"ndm": {"goodput": [0.8, 2.5]}, "bbr": {"goodput": [1.0, 2.0]}}
        squared = {
            scheme: {
                "goodput": [(rate * (1.1 if scheme == "ndm" else 1)) ** 0.5 for rate in metrics["goodput"]],
                "rtt_mean": [1.0, 1.0],
            }
            for scheme, metrics in values.items()
        }
        cells += made_cells(scenario, squared)
    score = TargetTable(replace(DEVELOPMENT, requirements=(one,)), Evidence(cells)).score("ndm")
    assert (score.minimum, score.maximum) == (pytest.approx(-0.2), pytest.approx(BEST_MARGIN))


def test_the_last_line_has_the_scores() -> None:
    _, table = scored(94.0)
    assert last_lines([table], ["ndm"])[-1] == "joint score: ndm -0.200 (no spread)"


def test_the_idle_time_of_a_long_slow_start_is_allowed() -> None:
    (requirement, *_) = DEVELOPMENT.requirements
    assert isinstance(requirement, InEachScenario)
    cells = [cell for one in SCENARIOS[:10] for cell in made_cells(one, {"ndm": {"utilisation": [90.0]}})]
    bounds = {one.scenario: one.bound for one in requirement.judge(Evidence(cells), "ndm")}
    for scenario in SCENARIOS[: NUMBERS["clean"]]:
        bound = bounds[scenario.name]
        assert bound is not None
        assert bound.high == (5 if scenario in QUICK else pytest.approx(1.5 * idle_pct(scenario)))
    assert len(QUICK) == 8


def test_the_table_has_what_each_requirement_adds() -> None:
    _, table = scored(94.0)
    assert table.margins("ndm") == [pytest.approx(-0.2)]
