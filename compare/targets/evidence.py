"""The measured figures of a target by scenario and scheme, and the peers of each scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from compare.metrics.cells import Cell, schemes_of
from compare.statistics.estimates import Estimate, estimate
from env.network.schemes import Scheme

Figure = Callable[[Cell], Sequence[float]]  # one value per seed with a result, NaN if the run has none


def is_model(scheme: Scheme) -> bool:
    """True for models of NDM, trained or not; the fixed weights of v1 are not a model."""
    return scheme.runs_ndm


def competes(scheme: Scheme) -> bool:
    """True for schemes that are judged: the oracle and constant windows only set bounds."""
    return not scheme.is_oracle and not scheme.packets


class Evidence:
    """The cells of a target's runs.

    schemes: those that compete, in order. A scheme's peers are the algorithms that are not models; algorithms also have
    the first model as a peer. Models are never peers of each other.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = {(cell.scenario.name, cell.scheme.name): cell for cell in cells}
        self.schemes: list[Scheme] = [scheme for scheme in schemes_of(cells) if competes(scheme)]
        self._models = [scheme.name for scheme in self.schemes if is_model(scheme)]

    def cells(self, schemes: Sequence[str]) -> list[Cell]:
        """Return the cells of these schemes."""
        return [cell for (_, scheme), cell in self._cells.items() if scheme in schemes]

    def cell(self, scenario: str, scheme: str) -> Cell | None:
        """Return a cell; None if it was not measured."""
        return self._cells.get((scenario, scheme))

    def values(self, scenario: str, scheme: str, figure: Figure) -> dict[int, float]:
        """Return a figure's value by seed, without NaN."""
        cell = self.cell(scenario, scheme)
        if cell is None:
            return {}
        # a metric that no run has gives no values at all
        return {seed: float(value) for seed, value in zip(cell.seeds, figure(cell), strict=False) if np.isfinite(value)}

    def estimate(self, scenario: str, scheme: str, figure: Figure) -> Estimate | None:
        """Return a figure's estimate over the seeds; None without a value."""
        values = self.values(scenario, scheme, figure)
        return estimate(list(values.values())) if values else None

    def mean(self, scenario: str, scheme: str, figure: Figure) -> float:
        """Return a figure's mean over the seeds; NaN without a value."""
        estimate = self.estimate(scenario, scheme, figure)
        return math.nan if estimate is None else estimate.mean

    def peers(self, scheme: str) -> list[str]:
        """Return the names of the schemes that a scheme is compared with."""
        peers = [peer.name for peer in self.schemes if peer.name not in self._models]
        if scheme not in self._models:
            peers = [*self._models[:1], *peers]
        return [peer for peer in peers if peer != scheme]
