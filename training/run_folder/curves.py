"""Reads the metrics of runs from TensorBoard's files, and draws the learning curves of all seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

from env.errors import UserError

PANELS = (  # tag, label of the axis, factor from the metric to the axis
    ("charts/goodput_share", "goodput (% of the link)", 100.0),
    ("charts/queueing_delay_ms", "queueing delay (ms)", 1.0),
    ("charts/reward", "reward per decision", 1.0),
)
GRID = 200  # points at which the median of curves is computed

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """A metric of a run after each update. decisions, values: [updates], at least one."""

    decisions: FloatArray
    values: FloatArray

    def part(self, begin: float, end: float) -> float:
        """Return the mean between two shares of the training; the value at its end where no update lies between."""
        total = self.decisions[-1]
        selected = (self.decisions > begin * total) & (self.decisions <= end * total)
        if not selected.any():
            selected = np.arange(self.decisions.size) == np.searchsorted(self.decisions, end * total)
        return float(self.values[selected].mean())

    def scaled(self, decisions: float, values: float) -> Curve:
        """Return the curve with decisions and values multiplied by these factors."""
        return Curve(self.decisions * decisions, self.values * values)

    def reached(self, value: float) -> float:
        """Return the number of decisions after which the metric first reached a value; infinite if it never did."""
        high = np.flatnonzero(self.values >= value)
        return float(self.decisions[high[0]]) if high.size else np.inf


def read_metrics(run: Path) -> dict[str, Curve]:
    """Return the metrics of a run by tag, over all its resumptions; none for a run that made no update.

    Raises UserError when there is no such run.
    """
    if not run.is_dir():
        raise UserError(f"there is no run {run}")
    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    metrics = {}
    for tag in events.Tags()["scalars"]:
        scalars = events.Scalars(tag)
        steps, values = [scalar.step for scalar in scalars], [scalar.value for scalar in scalars]
        metrics[tag] = Curve(np.array(steps, np.float64), np.array(values, np.float64))
    return metrics


def median_and_band(curves: Sequence[Curve]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return decisions [GRID], and the curves' median, minimum and maximum, over the range that all of them have."""
    begin = max(curve.decisions[0] for curve in curves)
    end = max(begin, min(curve.decisions[-1] for curve in curves))
    grid = np.linspace(begin, end, GRID)
    values = np.array([np.interp(grid, curve.decisions, curve.values) for curve in curves])  # [curves, GRID]
    return grid, np.median(values, axis=0), values.min(axis=0), values.max(axis=0)


def draw(groups: Mapping[str, Sequence[Path]], output: Path) -> None:
    """Write a picture with a panel for each of `PANELS`, a thin line for each run of each group.

    A group of several runs also has a thick line for the median, and a band from minimum to maximum. Runs without these
    metrics are left out. Raises UserError when all runs are left out, and for a run that does not exist.
    """
    metrics = {name: [(run.name, read_metrics(run)) for run in runs] for name, runs in groups.items()}
    if not any(tag in run_metrics for runs in metrics.values() for _, run_metrics in runs for tag, _, _ in PANELS):
        names = ", ".join(run for runs in metrics.values() for run, _ in runs)
        raise UserError(f"no metric {', '.join(tag for tag, _, _ in PANELS)} in {names}")
    figure = Figure(figsize=(4.5 * len(PANELS), 3.6), layout="constrained")
    panels = figure.subplots(1, len(PANELS))
    for panel, (tag, label, factor) in zip(panels, PANELS, strict=True):
        for colour, (name, runs) in enumerate(metrics.items()):
            curves = {run: metric[tag].scaled(1e-3, factor) for run, metric in runs if tag in metric}
            _draw_group(panel, curves, *((name, f"C{colour}") if len(metrics) > 1 else ("", "")))
        panel.set_xlabel("decisions (thousands)")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    panels[0].set_ylim(0, 105)
    panels[1].set_ylim(bottom=0)
    panels[0].legend(fontsize="small")
    figure.savefig(output, dpi=130)


def _draw_group(panel: Axes, curves: Mapping[str, Curve], name: str, colour: str) -> None:
    """Draw a curve for each run: in the group's colour with the group's name; if these are empty, each in its own."""
    many = len(curves) > 1
    for run, curve in curves.items():
        label = name if name and not many else "" if name else run
        thin: dict[str, Any] = {"color": colour or None, "alpha": 0.4 if name and many else 1.0}
        panel.plot(curve.decisions, curve.values, linewidth=0.8 if many else 1.2, label=label or None, **thin)
    if many:
        decisions, middle, low, high = median_and_band(list(curves.values()))
        panel.plot(decisions, middle, linewidth=2.0, color=colour or "black", label=name or "median")
        panel.fill_between(decisions, low, high, alpha=0.15, linewidth=0, color=colour or "black")
