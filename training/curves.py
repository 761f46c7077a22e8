"""Learning curves of several runs, one line a run, and a table of how each of them ended::

python -m training.curves runs/a runs/b runs/c --output docs/learning.png
python -m training.curves runs/a runs/b runs/c --table
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

from training.card import JSON_NAME

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PANELS = (  # tag, label of the axis, factor from the metric to the axis
    ("charts/goodput_share", "goodput (% of the link)", 100.0),
    ("charts/queueing_delay_ms", "queueing delay (ms)", 1.0),
    ("charts/reward", "reward per decision", 1.0),
)

COLUMNS = (  # tag, head of the table's column, format
    ("charts/goodput_share", "goodput share", "{:.3f}"),
    ("charts/queueing_delay_ms", "queueing delay, ms", "{:.1f}"),
    ("charts/loss_rate", "loss rate", "{:.5f}"),
    ("charts/reward", "reward", "{:.3f}"),
    ("losses/explained_variance", "explained variance", "{:.2f}"),
    ("charts/decisions_per_s", "decisions/s", "{:.0f}"),
)
FINAL = 0.1  # the last tenth of a run's updates, at least one, is how it ended

FloatArray = npt.NDArray[np.float64]


class CurvesError(Exception):
    """A run without the metrics to draw; the text says which."""


def read_metric(run: Path, tag: str) -> tuple[FloatArray, FloatArray]:
    """Return decisions [updates] and values [updates] of one metric of a run, over all its resumptions.

    Raises CurvesError when there is no such run or metric.
    """
    if not run.is_dir():
        raise CurvesError(f"there is no run {run}")
    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    if tag not in tags:
        raise CurvesError(f"{run} has no metric {tag}; it has {', '.join(sorted(tags)) or 'none'}")
    scalars = events.Scalars(tag)
    return np.array([s.step for s in scalars], np.float64), np.array([s.value for s in scalars], np.float64)


def draw(runs: list[Path], output: Path) -> None:
    """Write a picture with a panel for each of `PANELS` and a line for each run. Raises CurvesError."""
    figure, panels = plt.subplots(1, len(PANELS), figsize=(4.5 * len(PANELS), 3.6), layout="constrained")
    for panel, (tag, label, factor) in zip(panels, PANELS, strict=True):
        for run in runs:
            decisions, values = read_metric(run, tag)
            panel.plot(decisions / 1e3, values * factor, linewidth=1.2, label=run.name)
        panel.set_xlabel("decisions (thousands)")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    panels[0].set_ylim(0, 105)
    panels[1].set_ylim(bottom=0)
    panels[0].legend(fontsize="small")
    figure.savefig(output, dpi=130)
    plt.close(figure)


def final_values(run: Path) -> dict[str, float]:
    """Return the means of the `COLUMNS` that a run has, by tag, over the last tenth of its updates."""
    found = {}
    for tag, _, _ in COLUMNS:
        try:
            _, values = read_metric(run, tag)
        except CurvesError:
            continue
        found[tag] = float(values[-max(1, round(FINAL * len(values))) :].mean())
    return found


def table(runs: list[Path]) -> str:
    """Return a Markdown table: a row for every run, those that failed too, then median and range of all.

    Raises CurvesError when there is no such run.
    """
    for run in runs:
        if not run.is_dir():
            raise CurvesError(f"there is no run {run}")
    ended = [final_values(run) for run in runs]
    rows = []
    for run, values in zip(runs, ended, strict=True):
        card = _card(run)
        facts = [run.name, str(card["config"]["seed"]), card["status"], f"{card['decisions']:,}"] if card else None
        rows.append(
            (facts or [run.name, "", "no card", ""])
            + [form.format(values[tag]) if tag in values else "" for tag, _, form in COLUMNS]
        )
    known = {tag: [values[tag] for values in ended if tag in values] for tag, _, _ in COLUMNS}
    for name, pick in (("median", np.median), ("lowest", np.min), ("highest", np.max)):
        rows.append(
            [f"**{name}**", "", f"of {sum(map(bool, ended))}", ""]
            + [form.format(pick(known[tag])) if known[tag] else "" for tag, _, form in COLUMNS]
        )
    head = ["run", "seed", "status", "decisions", *(label for _, label, _ in COLUMNS)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def _card(run: Path) -> dict[str, Any] | None:
    try:
        card: dict[str, Any] = json.loads((run / JSON_NAME).read_text())
    except FileNotFoundError:
        return None
    return card


def main(argv: list[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m training.curves", description="Compare trainings.")
    parser.add_argument("runs", nargs="+", type=Path, help="run folders")
    parser.add_argument("--output", type=Path, help="picture of the curves to write: .png, .svg or .pdf")
    parser.add_argument("--table", action="store_true", help="print how each run ended, median and range")
    arguments = parser.parse_args(argv)
    if not (arguments.output or arguments.table):
        parser.error("say what to make of the runs: --output PICTURE, --table or both")
    try:
        if arguments.table:
            print(table(arguments.runs))
        if arguments.output:
            draw(arguments.runs, arguments.output)
            print(arguments.output)
    except (CurvesError, OSError, ValueError) as error:
        print(f"curves: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
