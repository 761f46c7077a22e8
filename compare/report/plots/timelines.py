"""Timelines of one run: goodput, window, RTT and queue of each scheme, or of each flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.metrics.cells import Cell
from compare.metrics.metric import Floats
from compare.metrics.series import binned
from compare.report.plots.figure import DIGITS, SOFT, Figure, axis, is_wide, line_markers, numbers
from compare.statistics.numbers import listed, number
from env.lab import Table
from env.network.schemes import SCHEMES

MAX_BINS = 300  # of a line, about one per pixel
SAMPLES_PER_BIN = 2
FEW = 4  # up to this number, flows have thick lines and are named in the alternative text
FLOW_VALUES = 6000  # drawn values of a figure with a line per flow, for any number of flows
FROM_GBIT, FROM_MS = 2, 5  # goodput is in Gbit/s, RTT in ms, from these values on
QUEUE, MINIMUM = "queue", "minimum"  # panels that are not a column of flow_series()
PANEL_PX = 130
GAP = 0.035  # between two panels, of the figure's height

Series = Mapping[str, Floats]


def bins_of(samples: int, max_bins: int) -> int:
    """Return the number of bins of a line."""
    return int(np.clip(samples // SAMPLES_PER_BIN, 8, max_bins))


def instants(end_s: float, bins: int) -> list[float]:
    """Return the middle of each bin, seconds since the run began: the x of every line of a figure."""
    return [float(f"{(index + 0.5) * end_s / bins:.{DIGITS + 1}g}") for index in range(bins)]


def panels_layout(labels: Sequence[str], log_of: Sequence[list[float] | None], end_s: float) -> dict[str, Any]:
    """Return the layout of panels above each other with one axis of time. log_of: values of the logarithmic ones."""
    height = (1 + GAP) / len(labels)
    layout: dict[str, Any] = {"height": 60 + PANEL_PX * len(labels), "hovermode": "x", "margin": {"l": 62}}
    for index, (label, values) in enumerate(zip(labels, log_of, strict=True)):
        top = 1 - index * height
        layout[f"yaxis{_suffix(index)}"] = axis(
            label, log_of=values, from_zero=True, domain=[max(0.0, top - height + GAP), top], nticks=5, automargin=False
        )
    layout["xaxis"] = axis("virtual time, s", range=[0, end_s], anchor=f"y{_suffix(len(labels) - 1)}")
    return layout


def _suffix(panel: int) -> str:
    """Return plotly's suffix of a panel's axis: none for the first, then 2, 3 and so on."""
    return str(panel + 1) if panel else ""


@dataclass(frozen=True)
class Panel:
    """One of the panels above each other.

    name: a series of flow_series(), QUEUE or MINIMUM. factor: to the unit of the label. ceiling: the largest value.
    """

    name: str
    label: str
    factor: float
    ceiling: float


def queue_series(queue: Table) -> tuple[Floats, Floats]:
    """Return (t_s, packets in the queue), both of shape (N,), of the port with the longest queue."""
    t_s, port, packets = (queue[name] for name in ("t_s", "port", "backlog_packets"))
    busiest = max(np.unique(port), key=lambda number: packets[port == number].sum())
    return t_s[port == busiest], packets[port == busiest]


def panels_of(series: Iterable[Series], queues: Sequence[tuple[Floats, Floats]], *, minimum: bool) -> list[Panel]:
    """Return the panels for these lines, in units that suit the values.

    minimum: with a panel of the minimum RTT, the congestion control's own if it keeps one, else the kernel's.
    """
    lines = list(series)
    rate_mbps = _high([line["goodput_mbps"] for line in lines])
    rtt_ms = _high([line["rtt_ms"] for line in lines])
    panels = [
        Panel("goodput_mbps", "goodput, Gbit/s", 1e-3, rate_mbps / 1e3)
        if rate_mbps >= FROM_GBIT * 1e3
        else Panel("goodput_mbps", "goodput, Mbit/s", 1.0, rate_mbps),
        Panel("cwnd", "cwnd, packets", 1.0, _high([line["cwnd"] for line in lines])),
        Panel("rtt_ms", "RTT, ms", 1.0, rtt_ms) if rtt_ms >= FROM_MS else Panel("rtt_ms", "RTT, us", 1e3, 1e3 * rtt_ms),
    ]
    if minimum:
        high_us = 1e3 * _high([_known_minimum(line) for line in lines])
        panels.append(Panel(MINIMUM, "min RTT, us", 1e3, high_us))
    if queues:
        panels.append(Panel(QUEUE, "queue, packets", 1.0, _high([packets for _, packets in queues])))
    return panels


def _high(lines: Sequence[Floats]) -> float:
    """Return the 99.5th percentile of all values."""
    values = np.concatenate(lines)
    values = values[np.isfinite(values)]
    return float(np.quantile(values, 0.995)) if values.size else 0.0


def _known_minimum(line: Series) -> Floats:
    cc_min_rtt_ms = line["cc_min_rtt_ms"]
    return line["min_rtt_ms"] if np.isnan(cc_min_rtt_ms).all() else cc_min_rtt_ms


def _drawn(panel: Panel, line: Series) -> tuple[Floats, Floats]:
    """Return (t_s, values in the panel's unit) of a flow's line."""
    values = _known_minimum(line) if panel.name == MINIMUM else line[panel.name]
    return line["t_s"], values * panel.factor


def timelines(
    cells: Sequence[Cell], series: Mapping[str, Series], queues: Mapping[str, tuple[Floats, Floats]]
) -> Figure:
    """Draw the first flow under test of one run of each scheme.

    series: flow_series() by scheme. queues: queue_series() of the run by scheme, if the queue was sampled.
    """
    end_s = cells[0].scenario.duration_s
    bins = bins_of(max(len(line["t_s"]) for line in series.values()), MAX_BINS)
    panels = panels_of(series.values(), list(queues.values()), minimum=False)
    data: list[dict[str, Any]] = []
    highest: dict[str, list[float]] = {panel.name: [] for panel in panels}
    lowest: dict[str, list[float]] = {panel.name: [] for panel in panels}
    alternative = []
    for cell in cells:
        means = []
        for index, panel in enumerate(panels):
            name = cell.scheme.name
            drawn = queues.get(name) if panel.name == QUEUE else _drawn(panel, series[name])
            if drawn is None:
                continue
            line = binned(*drawn, bins, end_s)[1]
            if np.isnan(line).all():
                continue
            highest[panel.name].append(float(np.nanmax(line)))
            lowest[panel.name].append(float(np.nanmin(line)))
            means.append(f"{number(float(np.nanmean(drawn[1])))} {panel.label.split(', ')[1]}")
            data.append(
                {
                    "type": "scatter",
                    **line_markers(cell.scheme),
                    "y": numbers(line),
                    "yaxis": f"y{_suffix(index)}",
                    "line": {"color": cell.scheme.colour, "width": 1.4},
                    "hoverinfo": "none",
                    "meta": name,
                }
            )
        alternative.append(f"{cell.scheme.label} {', '.join(means)}")
    log_of = [
        lowest[panel.name] + highest[panel.name]
        if panel.name in ("cwnd", "rtt_ms") and is_wide(highest[panel.name])
        else None
        for panel in panels
    ]
    labels = [panel.label for panel in panels]
    return Figure(
        title="One run of each scheme",
        caption="The first seed with a result. Point at a time, or move the slider, to read all values there; drag to "
        "enlarge, double-click to go back.",
        alternative=listed(
            [f"One run over time; means of {', '.join(label.split(',')[0] for label in labels)}", *alternative]
        ),
        spec={
            "data": data,
            "layout": panels_layout(labels, log_of, end_s),
            "x": instants(end_s, bins),
            "panels": labels,
        },
        kind="timelines",
    )


def flow_lines(
    cell: Cell, flows: Sequence[Series], queue: tuple[Floats, Floats] | None, panels: Sequence[Panel]
) -> Figure:
    """Draw every flow of one run of a scheme, and the queue that they share.

    Flows under test have shades of the scheme's colour, from the first to the last; other flows are dashed.
    """
    end_s = cell.scenario.duration_s
    max_bins = int(np.clip(FLOW_VALUES // (3 * len(flows)), 40, MAX_BINS // 2))
    bins = bins_of(max(len(line["t_s"]) for line in flows), max_bins)
    names = [flow["scheme"] for flow in cell.scenario.flows_with(cell.scheme.name)]
    few = len(flows) <= FEW
    data: list[dict[str, Any]] = []
    alternative = []
    for index, line in enumerate(flows):
        under_test = cell.under_test[index]
        label = f"flow {index + 1}" + ("" if under_test else f", {names[index]}")
        colour = shade(cell.scheme.colour, index / len(flows)) if under_test else colour_of(names[index])
        stroke = {"color": colour, "width": 1.4 if few else 0.9, "dash": "solid" if under_test else "dash"}
        data += [
            _line(position, binned(*_drawn(panel, line), bins, end_s)[1], stroke, label)
            for position, panel in enumerate(panels)
            if panel.name != QUEUE
        ]
        resent_s = line["t_s"][np.diff(line["retransmits"], prepend=0.0) > 0]
        if few and resent_s.size:
            data.append(_retransmissions(panels, resent_s, colour, label))
        if few and np.isfinite(line["goodput_mbps"]).any():
            alternative.append(f"{label} {number(float(np.nanmean(line['goodput_mbps'])))} Mbit/s")
    for position, panel in enumerate(panels):
        if panel.name == QUEUE and queue is not None:
            stroke = {"color": SOFT, "width": 1.2, "dash": "solid"}
            data.append(_line(position, binned(*queue, bins, end_s)[1], stroke, "queue"))
    layout = panels_layout([panel.label for panel in panels], [None] * len(panels), end_s) | {"hovermode": "closest"}
    for position, panel in enumerate(panels):
        layout[f"yaxis{_suffix(position)}"]["range"] = [0, 1.05 * panel.ceiling or 1.0]
    return Figure(
        title=cell.scheme.label,
        caption="",
        alternative=listed(
            [f"{len(flows)} flows over one run of {cell.scheme.label}", *(alternative or ["the table has their rates"])]
        ),
        spec={"data": data, "layout": layout, "x": instants(end_s, bins)},
    )


def _line(panel: int, values: Floats, stroke: dict[str, Any], label: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "y": numbers(values),
        "yaxis": f"y{_suffix(panel)}",
        "line": stroke,
        "hovertemplate": f"{label}: %{{y:.4~g}} at %{{x:.4~g}} s<extra></extra>",
    }


def _retransmissions(panels: Sequence[Panel], at_s: Floats, colour: str, label: str) -> dict[str, Any]:
    """Return ticks below the window's panel at the times of retransmissions."""
    position = next(position for position, panel in enumerate(panels) if panel.name == "cwnd")
    if at_s.size > MAX_BINS:
        at_s = at_s[np.linspace(0, at_s.size - 1, MAX_BINS).astype(int)]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": numbers(at_s),
        "y": [0] * at_s.size,
        "yaxis": f"y{_suffix(position)}",
        "cliponaxis": False,
        "marker": {"symbol": "line-ns-open", "size": 7, "color": colour},
        "hovertemplate": f"{label}: sent again at %{{x:.4~g}} s<extra></extra>",
    }


def shade(colour: str, share: float) -> str:
    """Return a darker (share 0) to lighter (share 1) shade of the colour."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{min(255, round(channel * (0.75 + 0.5 * share) + 25 * share)):02x}" for channel in channels)


def colour_of(scheme: str) -> str:
    """Return the colour of a scheme by its name in the kernel, for flows that are not under test."""
    return next((known.colour for known in SCHEMES.values() if known.algorithm == scheme), "#8a8a8a")
