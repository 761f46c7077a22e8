"""One run over time: goodput, window, RTT and queue of each scheme, or of each flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compare.metrics import Floats
from compare.numbers import listed, number
from compare.report.figure import DIGITS, Figure, axis, is_wide, line_markers, numbers
from compare.schemes import SCHEMES
from compare.series import binned
from compare.summary import Cell

MAX_BINS = 300  # of a line: as many as there are pixels for
SAMPLES_PER_BIN = 2
FEW = 4  # flows that are drawn with a thicker line, and named in words
FLOW_VALUES = 6000  # drawn values of a figure with a line per flow, whatever the number of flows
PANEL_PX = 130
GAP = 0.035  # between two panels, of the figure's height

Series = Mapping[str, Floats]


def bins_of(samples: int, most: int) -> int:
    """Return into how many bins a line of so many samples goes."""
    return int(np.clip(samples // SAMPLES_PER_BIN, 8, most))


def instants(end_s: float, bins: int) -> list[float]:
    """Return the middle of each bin, seconds since the run began: the x of every line of a figure."""
    return [float(f"{(index + 0.5) * end_s / bins:.{DIGITS + 1}g}") for index in range(bins)]


def panels_layout(labels: Sequence[str], log_of: Sequence[list[float] | None], end_s: float) -> dict[str, Any]:
    """Return the layout of panels above each other with one axis of time. log_of: values of the logarithmic ones."""
    height = (1 + GAP) / len(labels)
    layout: dict[str, Any] = {"height": 60 + PANEL_PX * len(labels), "hovermode": "x", "margin": {"l": 62}}
    for index, (label, values) in enumerate(zip(labels, log_of, strict=True)):
        top = 1 - index * height
        layout[f"yaxis{index + 1 if index else ''}"] = axis(
            label, log_of=values, from_zero=True, domain=[max(0.0, top - height + GAP), top], nticks=5, automargin=False
        )
    layout["xaxis"] = axis("virtual time, s", range=[0, end_s], anchor=f"y{len(labels) if len(labels) > 1 else ''}")
    return layout


def timelines(
    cells: Sequence[Cell], series: Mapping[str, Series], queues: Mapping[str, tuple[Floats, Floats]]
) -> Figure:
    """Draw the first flow under test of one run of each scheme.

    series: scheme to flow_series() of it. queues: scheme to (t_s, packets waiting at the bottleneck), where sampled.
    """
    end_s = cells[0].scenario.duration_s
    bins = bins_of(max(len(found["t_s"]) for found in series.values()), MAX_BINS)
    panels = [("goodput_mbps", "goodput, Mbit/s"), ("cwnd", "cwnd, packets"), ("rtt_ms", "RTT, ms")]
    if queues:
        panels.append(("queue", "queue, packets"))
    data: list[dict[str, Any]] = []
    highest: dict[str, list[float]] = {name: [] for name, _ in panels}
    lowest: dict[str, list[float]] = {name: [] for name, _ in panels}
    said = []
    for cell in cells:
        found = series.get(cell.scheme.name)
        if found is None:
            continue
        for index, (name, _) in enumerate(panels):
            if name == "queue" and cell.scheme.name not in queues:
                continue
            t_s, values = queues[cell.scheme.name] if name == "queue" else (found["t_s"], found[name])
            line = binned(t_s, values, bins, end_s)[1]
            highest[name].append(float(np.nanmax(line, initial=0.0)))
            lowest[name].append(float(np.nanmin(line, initial=np.inf)))
            data.append(
                {
                    "type": "scatter",
                    **line_markers(cell.scheme),
                    "y": numbers(line),
                    "yaxis": f"y{index + 1 if index else ''}",
                    "line": {"color": cell.scheme.colour, "width": 1.4},
                    "hoverinfo": "none",
                    "meta": cell.scheme.name,
                }
            )
        means = [
            f"{number(float(np.nanmean(found[name])))} {label.split(', ')[1]}"
            for name, label in panels[:3]
            if np.isfinite(found[name]).any()
        ]
        said.append(f"{cell.scheme.label} {', '.join(means)}")
    log_of = [
        lowest[name] + highest[name] if name in ("cwnd", "rtt_ms") and is_wide(highest[name]) else None
        for name, _ in panels
    ]
    layout = panels_layout([label for _, label in panels], log_of, end_s)
    return Figure(
        title="One run of each scheme",
        caption="The first good seed. Point at an instant, or move the slider, to read all values at it; drag to "
        "enlarge, double-click to go back.",
        alternative=listed(["One run over time; means over it of goodput, cwnd and RTT", *said]),
        spec={"data": data, "layout": layout, "x": instants(end_s, bins), "panels": [label for _, label in panels]},
        kind="timelines",
    )


def flow_lines(cell: Cell, flows: Sequence[Series], ceilings: Sequence[float]) -> Figure:
    """Draw goodput, cwnd and RTT of every flow of one run of a scheme.

    Flows under test are shades of the scheme's colour, from the first to the last; others are dashed, in their own.
    ceilings: upper end of each panel's axis, so that the figures of several schemes can be compared by eye.
    """
    end_s = cell.scenario.duration_s
    most = int(np.clip(FLOW_VALUES // (3 * len(flows)), 40, MAX_BINS // 2))
    bins = bins_of(max(len(found["t_s"]) for found in flows), most)
    data: list[dict[str, Any]] = []
    said = []
    names = [flow["scheme"] for flow in cell.scenario.flows_with(cell.scheme.name)]
    for index, found in enumerate(flows):
        mine = cell.under_test[index]
        label = f"flow {index + 1}" + ("" if mine else f", {names[index]}")
        colour = shade(cell.scheme.colour, index / len(flows)) if mine else colour_of(names[index])
        for panel, name in enumerate(FLOW_PANELS):
            line = binned(found["t_s"], found[name], bins, end_s)[1]
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "y": numbers(line),
                    "yaxis": f"y{panel + 1 if panel else ''}",
                    "line": {
                        "color": colour,
                        "width": 1.4 if len(flows) <= FEW else 0.9,
                        "dash": "solid" if mine else "dash",
                    },
                    "hovertemplate": f"{label}: %{{y:.4~g}} at %{{x:.4~g}} s<extra></extra>",
                }
            )
        if len(flows) <= FEW and np.isfinite(found["goodput_mbps"]).any():
            said.append(f"{label} {number(float(np.nanmean(found['goodput_mbps'])))} Mbit/s")
    layout = panels_layout(list(FLOW_PANELS.values()), [None] * len(FLOW_PANELS), end_s) | {"hovermode": "closest"}
    for panel, ceiling in enumerate(ceilings):
        layout[f"yaxis{panel + 1 if panel else ''}"]["range"] = [0, 1.05 * ceiling or 1.0]
    return Figure(
        title=cell.scheme.label,
        caption="",
        alternative=listed(
            [f"{len(flows)} flows over one run of {cell.scheme.label}", *(said or ["the table has their rates"])]
        ),
        spec={"data": data, "layout": layout, "x": instants(end_s, bins)},
    )


FLOW_PANELS = {"goodput_mbps": "goodput, Mbit/s", "cwnd": "cwnd, packets", "rtt_ms": "RTT, ms"}


def ceilings_of(all_flows: Sequence[Sequence[Series]]) -> list[float]:
    """Return for each panel of flow_lines() the highest of all values, but for the topmost half per cent."""
    found = []
    for name in FLOW_PANELS:
        values = np.concatenate([flow[name] for flows in all_flows for flow in flows])
        values = values[np.isfinite(values)]
        found.append(float(np.quantile(values, 0.995)) if values.size else 0.0)
    return found


def shade(colour: str, share: float) -> str:
    """Return the colour made lighter or darker, by how far a flow is among the flows: 0 to 1."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{min(255, round(channel * (0.75 + 0.5 * share) + 25 * share)):02x}" for channel in channels)


def colour_of(scheme: str) -> str:
    """Return the colour of flows that are not under test: their scheme's, by its name in the kernel."""
    found = [known.colour for known in SCHEMES.values() if known.algorithm == scheme]
    return found[0] if found else "#8a8a8a"
