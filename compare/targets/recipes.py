"""A recipe: the models that one training command made with several seeds, judged together.

The unit of a claim about a recipe is the training seed. The figure is the median over the models, and the interval of
the margin is over training seeds and runs (compare/statistics/hierarchical.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from compare.statistics.estimates import MIN_VALUES, Estimate
from compare.statistics.hierarchical import hierarchical_estimate
from compare.statistics.verdict import Verdict
from compare.targets.requirement import Bound, Judgement
from env.network.schemes import Scheme

FAR = 10.0  # a margin of more thresholds counts as that many: the distance to a threshold of 0 has no share


def population(scheme: Scheme) -> str:
    """Return a model's population, the NAME of runs/.../NAME/NAME-SEED; an empty text for other schemes."""
    run = Path(scheme.model)
    of_population = run.parent.name and re.fullmatch(rf"{re.escape(run.parent.name)}-\d+", run.name)
    return run.parent.name if of_population else ""


def find_recipes(schemes: Iterable[Scheme]) -> dict[str, list[str]]:
    """Return population to names of its models, for those with MIN_VALUES models or more."""
    found: dict[str, list[str]] = {}
    for scheme in schemes:
        if name := population(scheme):
            found.setdefault(name, []).append(scheme.name)
    return {name: models for name, models in found.items() if len(models) >= MIN_VALUES}


@dataclass(frozen=True)
class RecipeJudgement:
    """Whether a recipe meets a requirement in one scenario.

    figures: the mean of each model that has one. bound: that of the first model. margin: the distance to the bound as a
    share of it, over training seeds and runs; None if a model has none.
    """

    requirement: str
    scenario: str
    unit: str
    figures: tuple[float, ...]
    bound: Bound | None
    margin: Estimate | None
    verdict: Verdict

    @classmethod
    def of(cls, judgements: Sequence[Judgement]) -> RecipeJudgement:
        """Judge the models' judgements, one for each, of one requirement in one scenario."""
        first = judgements[0]
        figures = tuple(one.figure.mean for one in judgements if one.figure is not None)
        if any(one.verdict is Verdict.NOT_MEASURED for one in judgements):
            margin, verdict = None, Verdict.NOT_MEASURED
        elif not all(one.margins for one in judgements):  # all runs of a model failed
            margin, verdict = None, Verdict.MISSED
        else:
            margins = [np.clip(list(one.margins.values()), -FAR, FAR) for one in judgements]
            margin = hierarchical_estimate([list(map(float, of_one)) for of_one in margins])
            within = {value >= 0 for value in (margin.mean, *(margin.interval or ()))}
            verdict = Verdict.OPEN if len(within) > 1 else Verdict.of(within.pop())
        return cls(first.requirement, first.scenario, first.unit, figures, first.bound, margin, verdict)

    @property
    def median(self) -> float:
        """The median of the models' figures; NaN without one."""
        return median(self.figures) if self.figures else math.nan
