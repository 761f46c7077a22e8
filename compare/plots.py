"""The pictures of the report, as SVG to stand within HTML: text and lines take the colour of the page.

The figures are small and many, so that they stay readable side by side as well as below each other on a narrow window.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter

from compare.group_table import GroupRow
from compare.metrics import METRIC
from compare.series import binned, flow_series
from compare.statistics import Estimate
from compare.summary import Beside, Cell

_INK = "#010203"  # stands for the colour of the page's text
_STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": _INK,
    "grid.alpha": 0.15,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.labelcolor": _INK,
}
_WIDTH_IN = 4.6
_LOG_FROM = 8.0  # an axis is logarithmic when its values differ by more than this factor
TIMELINE_BINS = 60
BAR_METRICS = ("goodput", "rtt_p95", "retransmits", "retransmits_per_mb", "zero_seconds")


def _svg(name: str, height_in: float, draw: Callable[[Figure], None]) -> str:
    """Draw a figure and return it as an SVG element that fills its container. name: makes its ids its own."""
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        draw(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 aria-hidden="true" focusable="false"', svg, count=1)
    # text without a colour of its own is black in SVG, whatever the page's
    svg = svg.replace("<svg ", '<svg fill="currentColor" ', 1)
    return re.sub(r"'DejaVu Sans'[^;\"]*|sans-serif[^;\"]*'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)


def _log_when_wide(values: Sequence[float], set_scale: Callable[[str], Any], axis: Any) -> None:
    positive = [value for value in values if value > 0]
    if len(positive) < len(values) or not positive or max(positive) / min(positive) <= _LOG_FROM:
        return
    set_scale("log")
    axis.set_major_formatter(ScalarFormatter())
    axis.set_minor_formatter(NullFormatter())


def _whiskers(found: Estimate) -> tuple[float, float]:
    """Return the ends of the interval to draw; where there is none, the mean twice: a line without length."""
    return found.interval or (found.mean, found.mean)


def goodput_against_delay(cells: Sequence[Cell]) -> str:
    """Draw one scenario: goodput over p95 RTT, delay axis inverted, so that up and right is better."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        delays, rates = [], []
        for cell in cells:
            estimates = cell.estimates()
            delay, goodput = estimates.get("rtt_p95"), estimates.get("goodput")
            if delay is None or goodput is None:
                continue
            (delay_lo, delay_hi), (rate_lo, rate_hi) = _whiskers(delay), _whiskers(goodput)
            delays += [delay.mean, delay_lo, delay_hi]
            rates += [goodput.mean]
            axes.errorbar(
                delay.mean,
                goodput.mean,
                xerr=[[max(0.0, delay.mean - delay_lo)], [max(0.0, delay_hi - delay.mean)]],
                yerr=[[max(0.0, goodput.mean - rate_lo)], [max(0.0, rate_hi - goodput.mean)]],
                fmt=cell.scheme.marker,
                color=cell.scheme.colour,
                markersize=9,
                elinewidth=1,
                label=cell.scheme.label,
            )
        _log_when_wide(delays, axes.set_xscale, axes.xaxis)
        _log_when_wide(rates, axes.set_yscale, axes.yaxis)
        if axes.get_yscale() == "linear":
            axes.set_ylim(bottom=0)
        axes.invert_xaxis()
        axes.set_xlabel("p95 RTT, ms (less is to the right)")
        axes.set_ylabel("goodput, Mbit/s")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)

    return _svg(f"delay {cells[0].scenario.name}", 3.7, draw)


def bars(cells: Sequence[Cell], metric: str, beside: Sequence[Beside]) -> str:
    """Draw one metric of one scenario: bars with 95 % intervals, single seeds as dots, published runs as diamonds."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        present = [(cell, cell.estimates().get(metric)) for cell in cells]
        shown = [(cell, found) for cell, found in present if found is not None]
        everything: list[float] = []
        for row, (cell, found) in enumerate(shown):
            axes.barh(row, found.mean, height=0.62, color=cell.scheme.colour, alpha=0.8)
            whiskers = _whiskers(found)
            axes.plot(whiskers, [row, row], color=_INK, linewidth=1.5)
            seeds = [value for value in cell.values[metric] if np.isfinite(value)]
            axes.plot(seeds, [row + 0.36] * len(seeds), ".", color=cell.scheme.colour, markersize=4)
            runs = [b.published for b in beside if (b.scheme, b.figure) == (cell.scheme.name, _PUBLISHED.get(metric))]
            axes.plot(runs, [row] * len(runs), "D", markersize=6, markerfacecolor="none", markeredgecolor=_INK)
            everything += [found.mean, *whiskers, *seeds, *runs]
        axes.set_yticks(range(len(shown)), [cell.scheme.label for cell, _ in shown])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlim(0, max([*everything, 1e-9]) * 1.05 if max(everything, default=0) else 1)
        unit = METRIC[metric].unit
        axes.set_xlabel(METRIC[metric].title + ("" if unit == "count" else f", {unit}"))

    return _svg(f"bars {cells[0].scenario.name} {metric}", 0.9 + 0.34 * len(cells), draw)


# metric to the published figure that is drawn beside it
_PUBLISHED = {"goodput": "goodput, receiver side", "retransmits": "retransmits", "zero_seconds": "zero seconds"}


def timelines(cells: Sequence[Cell]) -> str:
    """Draw goodput, cwnd and smoothed RTT of one seed per scheme over the run."""

    def draw(figure: Figure) -> None:
        top, middle, bottom = figure.subplots(3, 1, sharex=True)
        panels: list[tuple[Axes, str, str]] = [
            (top, "goodput_mbps", "goodput, Mbit/s"),
            (middle, "cwnd", "cwnd, packets"),
            (bottom, "rtt_ms", "RTT, ms"),
        ]
        for axes, name, label in panels:
            highest = []
            for cell in cells:
                if cell.example is None:
                    continue
                series = flow_series(cell.example)
                bins = int(min(TIMELINE_BINS, max(4, 4 * cell.scenario.duration_s)))
                t_s, values = binned(series["t_s"], series[name], bins, cell.scenario.duration_s)
                axes.plot(
                    t_s,
                    values,
                    color=cell.scheme.colour,
                    linewidth=1.3,
                    marker=cell.scheme.marker,
                    markersize=5,
                    markevery=max(1, bins // 6),
                    label=cell.scheme.label,
                )
                highest.append(float(np.nanmax(values, initial=0.0)))
            if axes is not top and highest and max(highest) > _LOG_FROM * max(min(highest), 1e-9):
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(ScalarFormatter())
                axes.yaxis.set_minor_formatter(NullFormatter())
            else:
                axes.set_ylim(bottom=0)
                axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.set_ylabel(label)
        bottom.set_xlabel("virtual time, s")
        handles, labels = top.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)

    return _svg(f"timelines {cells[0].scenario.name}", 5.6, draw)


def flow_lines(cell: Cell) -> str:
    """Draw goodput, cwnd and smallest RTT of every flow of one run over time; ticks below cwnd: retransmissions.

    Flows of the first unit of the groups (10 KB requests beside 1 MB ones, others beside those under test) differ in
    line style, so that they can be told apart where there are too many for a legend.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(3, 1, sharex=True)
        top, middle, bottom = panels
        classes = _classes(cell)
        few = len(cell.flows) <= len(_FLOW_COLOURS)
        for index, flow in enumerate(cell.flows):
            series = flow_series(flow)
            bins = int(np.clip(len(series["t_s"]) // 2, 4, FLOW_BINS))
            colour = _FLOW_COLOURS[index] if few else _shade(cell.scheme.colour, index / len(cell.flows))
            style = _FLOW_STYLES[classes[index] % len(_FLOW_STYLES)]
            for axes, name, scale in (
                (top, "goodput_mbps", 1e-3),
                (middle, "cwnd", 1.0),
                (bottom, "min_rtt_ms" if np.isnan(series["kept_min_rtt_ms"]).all() else "kept_min_rtt_ms", 1e3),
            ):
                t_s, values = binned(series["t_s"], series[name] * scale, bins, cell.scenario.duration_s)
                axes.plot(t_s, values, color=colour, linestyle=style, linewidth=1.3 if few else 0.8)
            again = np.diff(series["retransmits"], prepend=0.0) > 0
            if few and again.any():
                at_s, foot = series["t_s"][again], np.zeros(np.count_nonzero(again))
                middle.plot(at_s, foot, linestyle="none", marker="|", markersize=7, color=colour, clip_on=False)
        for axes, label in zip(panels, ("goodput, Gbit/s", "cwnd, packets", "min RTT, us"), strict=True):
            highest = max((float(np.nanmax(line.get_ydata(), initial=0.0)) for line in axes.lines), default=0.0)
            axes.set_ylim(0, 1.08 * highest or 1.0)
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.set_ylabel(label)
        bottom.set_xlabel("virtual time, s")
        figure.legend(handles=_flow_legend(cell, classes, few), loc="outside lower center", ncols=3, fontsize=9)

    return _svg(f"flows {cell.scenario.name} {cell.scheme.name}", 5.4, draw)


FLOW_BINS = 100
_FLOW_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_FLOW_STYLES: tuple[Literal["-", "--", ":"], ...] = ("-", "--", ":")


def _classes(cell: Cell) -> list[int]:
    """Return for each flow the first group that it belongs to, of those that do not hold all flows."""
    parts = [{i for unit in group.units for i in unit} for group in cell.groups]
    parts = [part for part in parts if len(part) < len(cell.flows)]
    return [next((k for k, part in enumerate(parts) if i in part), 0) for i in range(len(cell.flows))]


def _shade(colour: str, share: float) -> tuple[float, float, float]:
    """Return the colour made lighter or darker, by how far a flow is among the flows: 0 to 1."""
    light = 0.75 + 0.5 * share
    red, green, blue = (min(1.0, channel * light + 0.1 * share) for channel in to_rgb(colour))
    return red, green, blue


def _flow_legend(cell: Cell, classes: list[int], few: bool) -> list[Line2D]:
    """Return a line per flow where they are few, else one per class of flows."""
    if few:
        names = [f"flow {i + 1}" + ("" if cell.under_test[i] else f", {f['scheme']}") for i, f in enumerate(cell.flows)]
        styles = [_FLOW_STYLES[number % len(_FLOW_STYLES)] for number in classes]
        return [Line2D([], [], color=_FLOW_COLOURS[i], linestyle=styles[i], label=name) for i, name in enumerate(names)]
    parts = [group for group in cell.groups if sum(map(len, group.units)) < len(cell.flows)]
    titles = [group.title.removesuffix(", per flow") for group in parts] or ["each flow"]
    return [
        Line2D([], [], color=cell.scheme.colour, linestyle=_FLOW_STYLES[k % len(_FLOW_STYLES)], label=title)
        for k, title in enumerate(titles)
    ]


def rate_and_cwnd(rows: Sequence[GroupRow]) -> str:
    """Draw the rate of all flows together as bars and their mean cwnd as diamonds on an axis of its own.

    Hollow: published. rows: one per scheme, of one group.
    """

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        right = axes.twinx()
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        for x, row in enumerate(rows):
            rate, cwnd = row.measured["rate"].mean / 1e3, row.measured["cwnd"].mean
            axes.bar(x, rate, width=0.6, color=row.cell.scheme.colour, alpha=0.8)
            right.plot(x, cwnd, "D", color=_INK, markersize=7)
            published_rate, published_cwnd = row.figure("rate"), row.figure("cwnd")
            if published_rate is not None:
                axes.bar(x, published_rate / 1e3, width=0.74, fill=False, edgecolor=_INK, linestyle=":")
            if published_cwnd is not None:
                right.plot(x, published_cwnd, "D", markersize=9, markerfacecolor="none", markeredgecolor=_INK)
        axes.set_xticks(range(len(rows)), [row.cell.scheme.label for row in rows])
        axes.grid(axis="x", visible=False)
        axes.set_ylabel("rate, Gbit/s (bars)")
        right.set_ylabel("cwnd, packets (diamonds)")
        right.set_ylim(bottom=0)

    return _svg(f"rate and cwnd {rows[0].cell.scenario.name}", 3.2, draw)


def latency_bars(rows: Sequence[GroupRow]) -> str:
    """Draw mean and 99th percentile of the latencies of one group of flows, one pair of bars per scheme.

    Hollow: published.
    """

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        everything: list[float] = []
        for x, row in enumerate(rows):
            for offset, name, alpha in ((-0.2, "mean_latency", 0.5), (0.2, "p99_latency", 0.9)):
                found, published = row.measured.get(name), row.figure(name)
                if found is not None:
                    axes.bar(x + offset, found.mean, width=0.36, color=row.cell.scheme.colour, alpha=alpha)
                    axes.plot([x + offset] * 2, _whiskers(found), color=_INK, linewidth=1.5)
                    everything.append(found.mean)
                if published is not None:
                    axes.bar(x + offset, published, width=0.4, fill=False, edgecolor=_INK, linestyle=":")
                    everything.append(published)
        _log_when_wide(everything, axes.set_yscale, axes.yaxis)
        axes.set_xticks(range(len(rows)), [row.cell.scheme.label for row in rows])
        axes.grid(axis="x", visible=False)
        axes.set_ylabel("latency, us")

    return _svg(f"latency {rows[0].cell.scenario.name} {rows[0].group.label}", 3.2, draw)
