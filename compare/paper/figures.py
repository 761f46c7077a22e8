"""Figures that are drawn from stored tables; the other figures of the paper are those of docs/results."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from compare.paper.stored import Numbers

INK, GREY = "#0b5394", "#999999"
# row of the table -> label
POLICIES = {
    "16 recurrent units, as the shipped network": "network, 16 recurrent units",
    "8 recurrent units": "network, 8 recurrent units",
    "32 recurrent units": "network, 32 recurrent units",
    "16 units without memory": "network, 16 units, no memory",
    "4 units without memory": "network, 4 units, no memory",
    "a linear policy (2 units without memory)": "linear policy",
    "a constant action, the best rule": "constant action",
    "16 recurrent units, without company": "network, law without company",
    "16 recurrent units, without the added packets": "network, no added packets",
    "16 recurrent units, without slow start": "network, no slow start",
    "16 recurrent units, without drains": "network, no drains",
    "16 recurrent units, without slow start, added packets, drains and company": "network, none of the four",
}
SCHEMES = ("NDM", "TCP-NV", "BBR", "Cubic", "CDG", "Vegas", "NDM v1", "Reno", "Illinois", "Westwood+")


def estimate(cell: str) -> tuple[float, float, float]:
    """Return mean, low and high of a cell such as `53.9 (52.3 to 55.4) ≥ 85: met`, or the mean thrice."""
    numbers = re.match(r"(-?[\d.]+) \((?:(-?[\d.]+) to (-?[\d.]+)|no spread)\)", cell)
    if numbers is None:
        raise ValueError(f"the cell {cell!r} is no mean with an interval")
    mean = float(numbers[1])
    return mean, float(numbers[2] or mean), float(numbers[3] or mean)


def _svg(figure: Figure) -> bytes:
    file = io.BytesIO()
    # without a date and with fixed names, the same numbers give the same file
    with rc_context({"svg.hashsalt": "ndm-tcp"}):
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    return file.getvalue()


def _intervals(axes: Axes, estimates: Mapping[str, tuple[float, float, float]], highlighted: str) -> None:
    for place, (label, (mean, low, high)) in enumerate(estimates.items()):
        colour = INK if label.startswith(highlighted) else GREY
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot(mean, place, "o", color=colour, markersize=4)
    axes.set_yticks(range(len(estimates)), list(estimates), fontsize=7)
    axes.invert_yaxis()
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def attribution(numbers: Numbers) -> bytes:
    """Draw the joint scores of policies in the same law, and of laws without their parts."""
    figure = Figure(figsize=(3.4, 2.5))
    axes = figure.add_subplot()
    cells = {label: numbers.cell("attribution", row, "joint score", "whole") for row, label in POLICIES.items()}
    _intervals(axes, {label: estimate(cell) for label, cell in cells.items()}, "network, 16 recurrent")
    axes.axvline(0, color="black", linewidth=0.5)
    axes.set_xlabel("joint score (0: all requirements met on average)", fontsize=7)
    return _svg(figure)


def fresh(numbers: Numbers) -> bytes:
    """Draw the winning rates of each scheme on fresh draws with one flow."""
    figure = Figure(figsize=(3.4, 1.9))
    axes = figure.add_subplot()
    column = "highest winning rate, one flow, and at least 85 %, %"
    cells = {scheme: numbers.cell("fresh", scheme, column, "whole") for scheme in SCHEMES}
    ordered = sorted(cells, key=lambda scheme: -estimate(cells[scheme])[0])
    _intervals(axes, {scheme: estimate(cells[scheme]) for scheme in ordered}, "NDM")
    axes.set_xlim(0, 100)
    axes.set_xlabel("scenarios won, % (one flow, fresh draws)", fontsize=7)
    return _svg(figure)


FIGURES: dict[str, Callable[[Numbers], bytes]] = {"attribution.svg": attribution, "fresh.svg": fresh}
