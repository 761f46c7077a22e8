"""The winners of a metric in a scenario: the schemes that a table marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compare.metrics.cells import Cell
from compare.metrics.metric import Metric
from compare.statistics.estimates import MIN_VALUES
from compare.statistics.paired import PairedComparison, values_by_seed

WINNERS_NOTE = (
    "Winners are marked: the best mean, and every mean that the paired t test over the seeds, with Holm's correction, "
    "does not show to be worse. That does not show that it is equal (comparisons.csv: p_equal). A scheme needs "
    f"{MIN_VALUES} runs to win. If no scheme differs, none is marked."
)


class Winners:
    """The winners of every metric, from the comparisons of all pairs of schemes."""

    def __init__(self, comparisons: Iterable[PairedComparison]) -> None:
        self._comparisons: dict[tuple[str, str], list[PairedComparison]] = {}
        for comparison in comparisons:
            self._comparisons.setdefault((comparison.scenario, comparison.metric), []).append(comparison)

    def of(self, cells: Sequence[Cell], metric: Metric) -> list[str]:
        """Return the schemes that a table marks: the winners, but none if every scheme with a run wins.

        cells: of one scenario.
        """
        if not cells:
            return []
        winners = winning_schemes(cells, metric, self._comparisons.get((cells[0].scenario.name, metric.name), ()))
        return winners if len(winners) < sum(bool(cell.seeds) for cell in cells) else []


def winning_schemes(cells: Sequence[Cell], metric: Metric, comparisons: Iterable[PairedComparison]) -> list[str]:
    """Return the schemes that win a metric: the one with the best mean, and all that do not differ from it.

    cells: of one scenario. Schemes with fewer than MIN_VALUES runs are left out. Nobody wins if the metric has no
    better direction, if all means are equal, or if fewer than two schemes are left.
    """
    by_seed = {cell.scheme.name: values_by_seed(cell, metric.name) for cell in cells}
    means = {
        name: float(np.mean(list(values.values()))) for name, values in by_seed.items() if len(values) >= MIN_VALUES
    }
    if metric.better == 0 or len(set(means.values())) < 2:
        return []
    best = max(means, key=lambda name: metric.better * means[name])
    differs = {}
    for comparison in comparisons:
        if (comparison.scenario, comparison.metric) == (cells[0].scenario.name, metric.name):
            pair = {comparison.scheme_a, comparison.scheme_b}
            if best in pair:
                differs[(pair - {best}).pop()] = comparison.differs
    # a scheme that has no seed in common with the best one cannot be compared with it and does not win
    return [name for name in means if name == best or differs.get(name) is False]
