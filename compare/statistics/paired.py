"""Which schemes differ: paired t tests over the same seeds, corrected for the number of pairs.

Rank and permutation tests (Wilcoxon's and others) cannot give a p below 2^(1-n). With ten seeds that is 1/512, or 0.07
after Holm's correction for the 36 pairs of nine schemes, so they could never find a difference. The t test has no such
limit. It keeps its level for differences that are symmetric, even if far from normal, as those of two equal schemes
are. Colas, Sigaud and Oudeyer ("A Hitchhiker's Guide to Statistical Comparisons of Reinforcement Learning Algorithms",
2019) recommend it for samples of this size. If one scheme hardly varies and the other is skewed, it finds too many
differences: with ten seeds, in up to a quarter of the experiments with equal means.

That two schemes do not differ does not show that they are equal: a few seeds may be too few to tell. Equality is shown
by two one-sided tests (TOST: Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for
Assessing the Equivalence of Average Bioavailability", 1987): the difference is neither above EQUAL_WITHIN of the larger
mean nor below minus that.

Shapes: P pairs of schemes, S seeds.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from compare.metrics.cells import Cell, by_scenario
from compare.metrics.metric import Floats
from compare.statistics.estimates import CONFIDENCE, MIN_VALUES
from compare.statistics.numbers import csv_text

LEVEL = 1 - CONFIDENCE
EQUAL_WITHIN = 0.05  # of the larger mean's magnitude


@dataclass(frozen=True)
class PairedComparison:
    """One metric of two schemes in one scenario, over the seeds for which both have a value.

    mean_difference: scheme_a minus scheme_b. lo, hi: its 95 % interval (t distribution, not corrected). p: of the
    paired t test; p_holm: after Holm's correction over all pairs of schemes of this scenario and metric. n: seeds with
    both values. left_out: the other seeds; a run failed, is missing or has no value. p_equal: of the two one-sided
    tests of equality, after the same correction.

    lo, hi, p, p_holm and p_equal are None below MIN_VALUES seeds; p and p_holm also if all differences are equal.
    """

    scenario: str
    metric: str
    scheme_a: str
    scheme_b: str
    mean_difference: float
    lo: float | None
    hi: float | None
    p: float | None
    p_holm: float | None
    n: int
    left_out: int
    p_equal: float | None = None

    @property
    def differs(self) -> bool | None:
        """Whether the two schemes differ; None below MIN_VALUES seeds."""
        if self.n < MIN_VALUES:
            return None
        return self.mean_difference != 0 if self.p_holm is None else self.p_holm < LEVEL

    @property
    def equal(self) -> bool | None:
        """Whether the two schemes are shown to be equal within EQUAL_WITHIN; None below MIN_VALUES seeds."""
        return None if self.p_equal is None else self.p_equal < LEVEL


COLUMNS = tuple(field.name for field in dataclasses.fields(PairedComparison))


def compare_pairs(cells: Sequence[Cell]) -> list[PairedComparison]:
    """Return the comparison of every pair of schemes, by scenario, metric and pair in the order of the cells."""
    comparisons = []
    for scenario, of_scenario in by_scenario(cells).items():
        for metric in dict.fromkeys(metric.name for cell in of_scenario for metric in cell.metrics):
            comparisons += _compare_metric(scenario, metric, of_scenario)
    return comparisons


def _compare_metric(scenario: str, metric: str, cells: Sequence[Cell]) -> list[PairedComparison]:
    by_seed = [values_by_seed(cell, metric) for cell in cells]
    seeds = sorted({seed for cell in cells for seed in (*cell.seeds, *cell.failed, *cell.missing)})
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(cells)), 2)
        if by_seed[i] and by_seed[j] and not by_seed[i].keys().isdisjoint(by_seed[j])
    ]
    if not pairs:
        return []
    values = np.array([[of_scheme.get(seed, np.nan) for seed in seeds] for of_scheme in by_seed])  # (schemes, S)
    differences = np.array([values[i] - values[j] for i, j in pairs])  # (P, S)
    n = np.count_nonzero(np.isfinite(differences), axis=1)  # (P,)
    mean = np.nanmean(differences, axis=1)  # (P,)
    testable = n >= MIN_VALUES
    error = np.zeros(len(pairs))  # (P,) standard error of the mean difference
    error[testable] = np.nanstd(differences[testable], axis=1, ddof=1) / np.sqrt(n[testable])
    # differences that are equal except for rounding
    error[error <= 1e-12 * np.abs(mean)] = 0.0
    varied = error > 0
    p, p_holm = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    if varied.any():
        p[varied] = 2 * stats.t.sf(np.abs(mean[varied]) / error[varied], n[varied] - 1)
        p_holm[varied] = holm(p[varied])
    half = error * stats.t.ppf((1 + CONFIDENCE) / 2, np.maximum(n - 1, 1))  # (P,)
    margin = EQUAL_WITHIN * np.array([_larger_mean(values[i], values[j]) for i, j in pairs])  # (P,)
    p_equal = np.where(np.abs(mean) <= margin, 0.0, 1.0)  # of equal differences
    p_equal[varied] = stats.t.sf((margin - np.abs(mean))[varied] / error[varied], n[varied] - 1)
    p_equal = holm(p_equal)
    return [
        PairedComparison(
            scenario,
            metric,
            cells[i].scheme.name,
            cells[j].scheme.name,
            float(mean[k]),
            float(mean[k] - half[k]) if testable[k] else None,
            float(mean[k] + half[k]) if testable[k] else None,
            float(p[k]) if varied[k] else None,
            float(p_holm[k]) if varied[k] else None,
            int(n[k]),
            len(seeds) - int(n[k]),
            float(p_equal[k]) if testable[k] else None,
        )
        for k, (i, j) in enumerate(pairs)
    ]


def _larger_mean(a: Floats, b: Floats) -> float:
    """Return the magnitude of the larger mean over the seeds that both have, (S,)."""
    both = np.isfinite(a) & np.isfinite(b)
    return float(max(abs(a[both].mean()), abs(b[both].mean()))) if both.any() else 0.0


def holm(p: Floats) -> Floats:
    """Return the p values after Holm's correction (1979) for their number, shape (P,).

    The smallest is multiplied by P, the next by P - 1, and so on; each is at least the previous one. statsmodels has
    this function too, but with 150 MB of packages, and it takes minutes in a large comparison.
    """
    order = np.argsort(p)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def values_by_seed(cell: Cell, metric: str) -> dict[int, float]:
    """Return the finite values of a metric by seed."""
    values = cell.values.get(metric, [])
    return {seed: value for seed, value in zip(cell.seeds, values, strict=bool(values)) if np.isfinite(value)}


def comparisons_csv(comparisons: Iterable[PairedComparison]) -> str:
    """Return the text of comparisons.csv: a row per scenario, metric and pair of schemes."""
    return csv_text(COLUMNS, (dataclasses.astuple(comparison) for comparison in comparisons))
