"""The tables of judged targets, for Markdown and HTML, and targets.csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from compare.statistics.estimates import Estimate, estimate
from compare.statistics.numbers import csv_text
from compare.statistics.verdict import Verdict
from compare.targets.evidence import Evidence, is_model
from compare.targets.recipes import RecipeJudgement, find_recipes
from compare.targets.requirement import Judgement, worst
from compare.targets.target import Target
from env.network.schemes import Scheme

COLUMNS = (
    "target", "requirement", "scenario", "scheme", "unit", "figure", "lo", "hi", "n", "failed",
    "at_least", "at_most", "from", "reach", "met", "margin",
)  # fmt: skip


WORST_MARGIN, BEST_MARGIN = -1.0, 0.25  # of a joint score; a share of the threshold


@dataclass(frozen=True)
class Decision:
    """The verdict on a requirement and a scheme, over all scenarios.

    text: the scenario that decides the verdict, with figure, bound and verdict there.
    """

    verdict: Verdict
    text: str


class TargetTable:
    """The judgements of a target for every scheme that competes."""

    def __init__(self, target: Target, evidence: Evidence) -> None:
        self.target = target
        self.schemes: list[Scheme] = evidence.schemes
        self._judged = {
            (requirement.name, scheme.name): requirement.judge(evidence, scheme.name)
            for requirement in target.requirements
            for scheme in self.schemes
        }

    @property
    def heads(self) -> list[str]:
        """The heads of the columns: the requirements with their units."""
        return [f"{one.text}{f', {one.unit}' if one.unit else ''}" for one in self.target.requirements]

    def judgements(self, scheme: str) -> list[Judgement]:
        """Return the judgements of a scheme, by requirement and scenario."""
        return [one for requirement in self.target.requirements for one in self._judged[requirement.name, scheme]]

    def rows(self) -> list[tuple[Scheme, list[Decision]]]:
        """Return a row per scheme, with a decision per requirement."""
        return [
            (scheme, [_decision(self._judged[one.name, scheme.name]) for one in self.target.requirements])
            for scheme in self.schemes
        ]

    def verdicts(self, scheme: str) -> dict[str, Verdict]:
        """Return requirement to verdict of a scheme, over all scenarios."""
        return {one.name: _over_scenarios(self._judged[one.name, scheme]) for one in self.target.requirements}

    @cached_property
    def recipes(self) -> dict[str, list[RecipeJudgement]]:
        """Population of models to its judgements, by requirement and scenario."""
        of_models = {
            name: [self.judgements(model) for model in models] for name, models in find_recipes(self.schemes).items()
        }
        return {
            name: [RecipeJudgement.of(of_one) for of_one in zip(*judged, strict=True)]
            for name, judged in of_models.items()
        }

    def recipe_verdicts(self) -> dict[str, dict[str, Verdict]]:
        """Return population of models to requirement to its verdict, over all scenarios."""
        return {
            name: {
                requirement.name: Verdict.of_all(one.verdict for one in judged if one.requirement == requirement.name)
                for requirement in self.target.requirements
            }
            for name, judged in self.recipes.items()
        }

    def detailed(self) -> list[Scheme]:
        """Return the schemes with a table of every scenario: the models, or else the first scheme."""
        return [scheme for scheme in self.schemes if is_model(scheme)] or self.schemes[:1]

    def score(self, scheme: str) -> Estimate:
        """Return a scheme's joint score over the seeds: the mean over the requirements of the mean over the scenarios.

        What counts is a run's margin, from WORST_MARGIN, which is also that of a run without a figure, to BEST_MARGIN.
        So nothing is won by meeting one requirement by far, nor lost by missing a hopeless one by more.
        """
        return estimate(self.run_scores(scheme))

    def run_scores(self, scheme: str) -> list[float]:
        """Return the joint score of each seed of the comparison."""
        return [fmean(of_one) for of_one in self._margins(scheme)]

    def scores(self) -> list[tuple[Scheme, Estimate]]:
        """Return the joint scores of all schemes, the highest first."""
        return sorted(((scheme, self.score(scheme.name)) for scheme in self.schemes), key=lambda pair: -pair[1].mean)

    def margins(self, scheme: str) -> list[float]:
        """Return what each requirement adds to a scheme's joint score: its mean margin over scenarios and seeds."""
        return [fmean(of_seeds) for of_seeds in zip(*self._margins(scheme), strict=True)]

    def _margins(self, scheme: str) -> list[list[float]]:
        """Return a row per seed: each requirement's mean margin over its scenarios."""
        judged = [self._judged[requirement.name, scheme] for requirement in self.target.requirements]
        seeds = sorted({seed for judgements in judged for one in judgements for seed in one.margins}) or [1]
        return [[fmean(_clipped(one, seed) for one in of_one) for of_one in judged] for seed in seeds]


def _clipped(judgement: Judgement, seed: int) -> float:
    return min(max(judgement.margins.get(seed, WORST_MARGIN), WORST_MARGIN), BEST_MARGIN)


def _over_scenarios(judgements: Sequence[Judgement]) -> Verdict:
    return Verdict.of_all(one.verdict for one in judgements)


def _decision(judgements: Sequence[Judgement]) -> Decision:
    deciding = worst(judgements)
    text = f"{deciding.shown} {deciding.bound or ''}".strip() + f": {deciding.statement}"
    if len(judgements) > 1:
        met = sum(one.verdict is Verdict.MET for one in judgements)
        text = f"{met} of {len(judgements)}; {deciding.scenario}: {text}"
    return Decision(_over_scenarios(judgements), text)


def targets_csv(tables: Sequence[TargetTable]) -> str:
    """Return the text of targets.csv: a row per requirement, scenario and scheme."""
    return csv_text(COLUMNS, _csv_rows(tables))


def _csv_rows(tables: Sequence[TargetTable]) -> Iterator[list[str | float | None]]:
    for table in tables:
        for scheme in table.schemes:
            for one in table.judgements(scheme.name):
                figure, bound = one.figure, one.bound
                numbers = [None, None, None, 0] if figure is None else [figure.mean, figure.lo, figure.hi, figure.n]
                range_ = [None, None, None] if bound is None else [bound.low, bound.high, bound.source]
                yield [
                    table.target.name, one.requirement, one.scenario, one.scheme, one.unit, *numbers, one.failed,
                    *range_, one.reach, one.verdict.value, one.margin,
                ]  # fmt: skip
