"""Which values a table marks: the winners of each metric of each scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compare.metrics.metrics import Metric
from compare.metrics.summary import Cell
from compare.statistics.paired import PairedComparison, winners
from compare.statistics.statistics import MIN_VALUES
from compare.statistics.winning import MARGIN

MARKED = (
    "Winners are marked: the best mean, and every one that does not differ from it in the paired t test over the seeds "
    f"with Holm's correction. It takes {MIN_VALUES} runs to win; where nobody differs, nobody is marked."
)

RATED = {
    "single flow": f"goodput² over mean RTT is at most {100 * MARGIN:.0f} % below the best scheme's",
    "friendliness": f"its distance from the fair share is at most {100 * MARGIN:.0f} % above the least",
}


class Marks:
    """The winners, found through the comparisons of their scenario and metric."""

    def __init__(self, comparisons: Iterable[PairedComparison]) -> None:
        self._of: dict[tuple[str, str], list[PairedComparison]] = {}
        for compared in comparisons:
            self._of.setdefault((compared.scenario, compared.metric), []).append(compared)

    def winners(self, cells: Sequence[Cell], metric: Metric) -> list[str]:
        """Return the schemes that win a metric, of the cells of one scenario; none where there is nothing to win."""
        if not cells:
            return []
        found = winners(cells, metric, self._of.get((cells[0].scenario.name, metric.name), ()))
        return found if len(found) < sum(bool(cell.seeds) for cell in cells) else []
