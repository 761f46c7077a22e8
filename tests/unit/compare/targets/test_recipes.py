"""Several models of one recipe are judged together, with the training seed as the unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from compare.metrics.cells import Cell
from compare.statistics.verdict import Verdict
from compare.targets.catalogue import TARGETS
from compare.targets.catalogue.winning import HighestRate
from compare.targets.evidence import Evidence
from compare.targets.last_lines import last_lines
from compare.targets.recipes import RecipeJudgement, find_recipes
from compare.targets.requirement import Bound, Judgement
from compare.targets.section import target_section
from compare.targets.tables import TargetTable
from tests.support.results import made_cells


def table(*utilisations: Sequence[float]) -> TargetTable:
    """The target `loss`, with one model of the recipe `mine` for each sequence of runs in every scenario."""
    cells: list[Cell] = []
    for scenario in TARGETS["loss"].make():
        left = 1 - scenario.network_path().loss_pct / 100
        values = {
            f"ndm@runs/mine/mine-{i}": {"utilisation": [left * value for value in runs]}
            for i, runs in enumerate(utilisations, 1)
        }
        cells += made_cells(scenario, values | {"ndm@runs/other/other-1": {"utilisation": [99.0]}})
    return TargetTable(TARGETS["loss"], Evidence(cells))


def test_a_recipe_has_three_models_or_more() -> None:
    assert find_recipes(table([1], [2]).schemes) == {}
    models = ["ndm@runs/mine/mine-1", "ndm@runs/mine/mine-2", "ndm@runs/mine/mine-3"]
    assert find_recipes(table([1], [2], [3]).schemes) == {"mine": models}


def test_it_is_met_when_the_interval_over_trainings_is_within() -> None:
    good, fair, bad = [95.0, 96.0, 97.0], [89.9, 91.0, 92.0], [60.0, 61.0, 62.0]
    met = table(good, good, fair).recipe_verdicts()["mine"]["used"]
    missed = table(bad, bad, bad).recipe_verdicts()["mine"]["used"]
    # each model alone is met or missed; one of three that fails decides nothing for the recipe
    unsure = table(good, good, bad).recipe_verdicts()["mine"]["used"]
    assert (met, missed, unsure) == (Verdict.MET, Verdict.MISSED, Verdict.OPEN)


def test_the_figure_is_the_median_of_the_models() -> None:
    judgements = table([90.0, 92.0], [95.0, 97.0], [60.0, 62.0]).recipes["mine"]
    assert len(judgements) == len(TARGETS["loss"].make())
    assert {round(one.median, 9) for one in judgements} == {91.0}
    margins = [math.nan if one.margin is None else one.margin.mean for one in judgements]
    assert margins == pytest.approx([(248 / 3 - 90) / 90] * len(margins))


def test_it_is_written_beside_the_models() -> None:
    judged = table([95.0] * 3, [96.0] * 3, [97.0] * 3)
    assert "targets met by the recipe mine: 1 of 1: loss.used" in last_lines([judged], [])
    text = target_section(judged).markdown()
    assert "The recipe mine, over its training seeds:" in text
    assert "| 96 (95, 96, 97), % | ≥ 90 | 6.7 (5.6 to 7.8) | met |" in text


def test_a_model_whose_runs_all_failed_misses() -> None:
    scenarios = TARGETS["loss"].make()
    cells: list[Cell] = []
    for scenario in scenarios:
        values = {f"ndm@runs/mine/mine-{i}": {"utilisation": [99.0] * 3} for i in (1, 2)}
        cells += made_cells(scenario, values | {"ndm@runs/mine/mine-3": {}}, {"ndm@runs/mine/mine-3": 3})
    verdicts = TargetTable(TARGETS["loss"], Evidence(cells)).recipe_verdicts()
    assert verdicts["mine"]["used"] is Verdict.MISSED


def test_a_win_counts_as_much_as_a_loss() -> None:
    # the peer wins scenarios 0 and 1, each model scenarios 2 and 3, or 3 alone
    requirement = next(one for one in TARGETS["winning"].requirements if isinstance(one, HighestRate))
    bound = Bound(low=50, source="peer", by_seed={0: 100.0, 1: 100.0, 2: 0.0, 3: 0.0}, scale=50)

    def judged(*won: int) -> Judgement:
        return Judgement.of(requirement, "4 scenarios", "ndm", {i: 100.0 * (i in won) for i in range(4)}, bound)

    as_often, less_often = RecipeJudgement.of([judged(2, 3)] * 3), RecipeJudgement.of([judged(3)] * 3)
    assert as_often.margin is not None
    assert as_often.margin.mean == 0
    assert less_often.margin is not None
    assert less_often.margin.mean == pytest.approx((25 - 50) / 50)
