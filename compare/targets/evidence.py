"""What the runs of a target say, by scenario and scheme; and who is compared with whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from compare.metrics.cells import Cell
from compare.statistics.estimates import Estimate, estimate
from env.network.schemes import Scheme

Figure = Callable[[Cell], Sequence[float]]  # one value per good seed, NaN where a run has none


def is_model(scheme: Scheme) -> bool:
    """Whether a scheme is a model of NDM that was trained, or might have been; v1's weights are none."""
    return scheme.module.startswith("tcp_ndm") and scheme.name != "ndm_v1"


def competes(scheme: Scheme) -> bool:
    """Whether a scheme is one to be beaten: the oracle and constant windows are lines to be reached."""
    return not scheme.is_oracle and not scheme.packets


class Evidence:
    """The cells of a target's runs.

    schemes: those that compete, in order. What a figure is compared with is found among a scheme's peers: the
    algorithms that are no model, and for those also the first model. Models do not stand in each other's way.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = {(cell.scenario.name, cell.scheme.name): cell for cell in cells}
        found = {cell.scheme.name: cell.scheme for cell in cells if competes(cell.scheme)}
        self.schemes: list[Scheme] = list(found.values())
        self._models = [scheme.name for scheme in self.schemes if is_model(scheme)]

    def scenarios(self) -> list[str]:
        """Return the names of the scenarios, in order."""
        return list(dict.fromkeys(scenario for scenario, _ in self._cells))

    def cells(self, schemes: Sequence[str]) -> list[Cell]:
        """Return the cells of these schemes."""
        return [cell for (_, scheme), cell in self._cells.items() if scheme in schemes]

    def cell(self, scenario: str, scheme: str) -> Cell | None:
        """Return a cell, None where this was not measured."""
        return self._cells.get((scenario, scheme))

    def estimate(self, scenario: str, scheme: str, figure: Figure) -> Estimate | None:
        """Return a figure's estimate over the seeds; None where no run gave one."""
        cell = self.cell(scenario, scheme)
        values = [] if cell is None else list(figure(cell))
        return estimate(values) if any(np.isfinite(value) for value in values) else None

    def mean(self, scenario: str, scheme: str, figure: Figure) -> float:
        """Return a figure's mean over the seeds; NaN where no run gave one."""
        found = self.estimate(scenario, scheme, figure)
        return math.nan if found is None else found.mean

    def peers(self, scheme: str) -> list[str]:
        """Return whom a scheme is compared with."""
        others = [one.name for one in self.schemes if one.name not in self._models]
        if scheme not in self._models:
            others = [*self._models[:1], *others]
        return [name for name in others if name != scheme]
