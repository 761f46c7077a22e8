"""A picture of a whole comparison for a document: throughput against delay, a panel per scenario::

python -m studies.documents.overview results/mixed docs/results/results-mixed.png
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from compare.experiment.store import Store
from compare.metrics.cells import Cell, by_scenario, read_cells, schemes_of
from compare.metrics.metric import Metric
from compare.report import metric_layout
from compare.report.plots.figure import is_wide
from compare.report.plots.markers import MARKERS
from compare.statistics.estimates import Estimate, estimate_of
from compare.statistics.numbers import name_and_unit, readable, scaled

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from env.command import command
from env.network.schemes import Scheme

PANELS_ABREAST = 3
PANEL_INCHES = (4.2, 3.4)
DPI = 110


def _marker(scheme: Scheme) -> Any:
    """Return the scheme's marker: its letter, or its outline where it has no letter."""
    return scheme.marker if len(scheme.marker) == 1 else [(x, -y) for x, y in MARKERS[scheme.marker].outline]


def draw_overview(cells: Sequence[Cell], output: Path) -> int:
    """Write a picture with a panel for every scenario that has throughput and delay; return the number of panels.

    A scheme's marker is at its means over the seeds, with the 95 % intervals of both. The delay axis is inverted, so
    that up and to the right is better.
    """
    panels = [
        (name, part, axes)
        for name, part in by_scenario(cells).items()
        if (axes := metric_layout.throughput_delay_axes(part))
    ]
    if not panels:
        return 0
    across = min(len(panels), PANELS_ABREAST)
    down = math.ceil(len(panels) / across)
    size = (across * PANEL_INCHES[0], down * PANEL_INCHES[1] + 0.5)
    figure, grid = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    for axes, (name, part, (throughput, delay)) in zip(grid.flat, panels, strict=False):
        _panel(axes, part, throughput, delay)
        axes.set_title(name)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    legend = [
        Line2D([], [], linestyle="", marker=_marker(scheme), color=scheme.colour, label=scheme.label)
        for scheme in schemes_of(cells)
    ]
    figure.legend(handles=legend, loc="outside lower center", ncols=min(len(legend), 6), frameon=False)
    figure.savefig(output, dpi=DPI)
    plt.close(figure)
    return len(panels)


def _panel(axes: Axes, cells: Sequence[Cell], throughput: Metric, delay: Metric) -> None:
    estimates = [(cell.scheme, estimate_of(cell, delay.name), estimate_of(cell, throughput.name)) for cell in cells]
    means = [(scheme, x, y) for scheme, x, y in estimates if x is not None and y is not None]
    delay, factor = readable(delay, (x.mean for _, x, _ in means))
    means = [(scheme, scaled(x, factor), y) for scheme, x, y in means]
    for scheme, x, y in means:
        axes.errorbar(
            x.mean,
            y.mean,
            xerr=_error(x),
            yerr=_error(y),
            marker=_marker(scheme),
            color=scheme.colour,
            markersize=8,
            elinewidth=1,
        )
    if is_wide(x.mean for _, x, _ in means):
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis)
    if is_wide(y.mean for _, _, y in means):
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis)
    axes.invert_xaxis()
    axes.set_xlabel(name_and_unit(delay))
    axes.set_ylabel(name_and_unit(throughput))
    axes.grid(alpha=0.3)


def _error(estimate: Estimate) -> list[list[float]] | None:
    """Return the length of the interval below and above the mean, as matplotlib needs it; None without an interval."""
    if estimate.interval is None:
        return None
    lo, hi = estimate.interval
    return [[estimate.mean - lo], [hi - estimate.mean]]


def _plain_ticks(axis: Axis) -> None:
    """Label the ticks of a logarithmic axis with plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter(NullFormatter())


@command("studies.documents.overview", OSError)
def main(arguments: Sequence[str]) -> None:
    """The command line: the folder of a comparison, and the file of the picture."""
    if len(arguments) != 2:
        sys.exit("usage: python -m studies.documents.overview RESULTS PNG")
    folder, output = map(Path, arguments)
    store = Store(folder)
    panels = draw_overview(read_cells(store.experiment(), store), output)
    if not panels:
        sys.exit(f"studies.documents.overview: no scenario of {folder} has throughput and delay to draw")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
