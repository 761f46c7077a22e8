"""The goodput of each flow of a scenario, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compare.metrics.cells import Cell
from compare.report.plots.figure import INK, SURFACE, Figure, axis, numbers
from compare.report.plots.timelines import colour_of
from compare.statistics.estimates import Estimate
from compare.statistics.numbers import listed, number

ROW_PX = 30


def goodput_shares(cells: Sequence[Cell], jain: Mapping[str, Estimate]) -> Figure:
    """Draw a bar per scheme with a block per flow, as long as its mean goodput. jain: Jain index by scheme, if any."""
    data: list[dict[str, Any]] = []
    notes = []
    alternative = []
    for cell in cells:
        names = [flow["scheme"] for flow in cell.scenario.flows_with(cell.scheme.name)]
        goodputs = np.asarray(cell.goodputs).mean(axis=0)  # (flows,), over the seeds
        for position, (goodput, under_test) in enumerate(zip(goodputs, cell.under_test, strict=True)):
            label = f"flow {position + 1}" + ("" if under_test else f", {names[position]}")
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "x": numbers([goodput]),
                    "y": [cell.scheme.label],
                    "marker": {
                        "color": cell.scheme.colour if under_test else colour_of(names[position]),
                        "line": {"color": SURFACE, "width": 1},
                        **({} if under_test else {"pattern": {"shape": "/", "size": 5, "solidity": 0.25}}),
                    },
                    "text": [f"<b>{cell.scheme.label}</b>, {label}: {number(goodput)} Mbit/s"],
                    "textposition": "none",
                    "hoverinfo": "text",
                    "meta": cell.scheme.name,
                }
            )
        index = jain.get(cell.scheme.name)
        jain_text = f", Jain index {index.mean:.3f}" if index else ""
        alternative.append(f"{cell.scheme.label} {', '.join(number(goodput) for goodput in goodputs)}{jain_text}")
        if index:
            notes.append({"text": f"J = {index.mean:.3f}", "y": cell.scheme.label, "x": 1.0, "xref": "x domain",
                          "xanchor": "left", "xshift": 6, "showarrow": False, "font": {"color": INK}})  # fmt: skip
    layout = {
        "height": 70 + ROW_PX * len(cells),
        "barmode": "stack",
        "bargap": 0.3,
        "hovermode": "closest",
        "annotations": notes,
        "margin": {"r": 76 if notes else 16},
        "xaxis": axis("goodput of the flows, Mbit/s"),
        "yaxis": {
            "type": "category",
            "categoryarray": [cell.scheme.label for cell in cells],
            "autorange": "reversed",
            "showgrid": False,
            "automargin": True,
        },
    }
    mixed = not all(cells[0].under_test)
    return Figure(
        title="Goodput of each flow",
        caption="A block per flow, in the scenario's order; mean over the seeds."
        + (" Hatched: flows that are not under test." if mixed else "")
        + (" J: Jain index of the flows under test." if notes else ""),
        alternative=listed(["Mean goodput of each flow, Mbit/s", *alternative]),
        spec={"data": data, "layout": layout},
    )
