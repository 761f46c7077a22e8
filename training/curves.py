"""Draw learning curves of several runs, one line a run::

python -m training.curves runs/a runs/b runs/c --output docs/learning.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PANELS = (  # tag, label of the axis, factor from the metric to the axis
    ("charts/goodput_share", "goodput (% of the link)", 100.0),
    ("charts/queueing_delay_ms", "queueing delay (ms)", 1.0),
    ("charts/reward", "reward per decision", 1.0),
)

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


def main(argv: list[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m training.curves", description="Draw learning curves.")
    parser.add_argument("runs", nargs="+", type=Path, help="run folders")
    parser.add_argument("--output", type=Path, required=True, help="picture to write: .png, .svg or .pdf")
    arguments = parser.parse_args(argv)
    try:
        draw(arguments.runs, arguments.output)
    except (CurvesError, OSError, ValueError) as error:
        print(f"curves: {error}", file=sys.stderr)
        return 1
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
