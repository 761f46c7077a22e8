"""Reports on populations, which are runs that differ only in their seed. The report shows all runs, not just the best.

    python train.py -m profile=mixed                            # trains runs/mixed/mixed-1, -2, -3; writes the report
    python -m training.sweeps.population runs/mixed             # the report, also while runs are still training
    python -m training.sweeps.population runs/mixed runs/fair   # two populations side by side
    python -m training.sweeps.population runs/a runs/b runs/c   # single runs as one population

A population's folder NAME holds its runs NAME-SEED, and the report: population.md, a table with every seed, median and
range, and population.png, with the curve of every seed, their median and a band from the lowest to the highest.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from env.command import command
from env.errors import UserError
from env.files import write_atomically
from export import checkpoint
from training.run_folder.card import JSON_NAME
from training.run_folder.curves import Curve, draw, read_metrics

TABLE_NAME = "population.md"
PICTURE_NAME = "population.png"
REWARD = "charts/reward"
FIRST_THIRD = (0.0, 1 / 3)
LAST = (0.9, 1.0)  # range of a run's decisions: the last tenth
COLUMNS = (  # heading, tag, range of the run's decisions over which the mean is taken (shares), format
    ("goodput share", "charts/goodput_share", LAST, "{:.3f}"),
    ("queueing delay, ms", "charts/queueing_delay_ms", LAST, "{:.1f}"),
    ("loss rate", "charts/loss_rate", LAST, "{:.5f}"),
    ("explained variance", "losses/explained_variance", LAST, "{:.2f}"),
    ("reward, first tenth", REWARD, (0.0, 0.1), "{:.3f}"),
    ("reward, first third", REWARD, FIRST_THIRD, "{:.3f}"),
    ("reward, last tenth", REWARD, LAST, "{:.3f}"),
)
REACHED = 0.95  # share of the first population's median final reward; the goal of "decisions to a reward"


@dataclass(frozen=True)
class Population:
    """Runs that are compared as a group."""

    name: str
    runs: tuple[Path, ...]


def find_populations(folders: Sequence[Path]) -> list[Population]:
    """Return the population in each folder; if the folders are runs, one population of them. Raises UserError."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no run or population {folder}")
    runs = tuple(folder for folder in folders if not _runs(folder))
    if runs and len(runs) < len(folders):
        raise UserError(f"{', '.join(map(str, runs))}: not a population; give populations only, or runs only")
    return [Population("runs", runs)] if runs else [Population(folder.name, _runs(folder)) for folder in folders]


def _runs(folder: Path) -> tuple[Path, ...]:
    """Return the runs in a folder, sorted by seed; empty if the folder is a run itself."""
    if (folder / JSON_NAME).is_file() or checkpoint.checkpoint_path(folder).is_file():
        return ()
    runs = (card.parent for card in folder.glob(f"*/{JSON_NAME}"))
    return tuple(sorted(runs, key=lambda run: (seed_of(run), run.name)))


def seed_of(run: Path) -> int:
    """Return the seed in a run's card; 0 without a card."""
    card = _card(run)
    return int(card["config"]["seed"]) if card else 0


def _card(run: Path) -> dict[str, Any] | None:
    try:
        card: dict[str, Any] = json.loads((run / JSON_NAME).read_text())
    except FileNotFoundError:
        return None
    return card


def table(populations: Sequence[Population]) -> str:
    """Return a Markdown table: a row for every run, failed ones included, then median and range of each population.

    Raises UserError when a run does not exist.
    """
    metrics = {run: read_metrics(run) for population in populations for run in population.runs}
    goal = _goal([metrics[run] for run in populations[0].runs])
    head = ["run", "seed", "status", "decisions", "wall time, min", *(label for label, *_ in COLUMNS)]
    head += [f"decisions to a reward of {goal:.3f}"] if goal is not None else []
    rows, summaries = [], []
    for population in populations:
        numbers = [_numbers(metrics[run], goal) for run in population.runs]
        rows += [[*_facts(run), *_cells(values, goal)] for run, values in zip(population.runs, numbers, strict=True)]
        prefix = f"{population.name}: " if len(populations) > 1 else ""
        measured = [values for values in numbers if any(value is not None for value in values)]
        for name, pick in (("median", np.median), ("lowest", np.min), ("highest", np.max)):
            columns = ([value for value in column if value is not None] for column in zip(*numbers, strict=True))
            picked = [float(pick(column)) if column else None for column in columns]
            summaries.append([f"**{prefix}{name}**", "", f"of {len(measured)}", "", "", *_cells(picked, goal)])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows, *summaries))


def _goal(metrics: Sequence[dict[str, Curve]]) -> float | None:
    """Return the reward of the column "decisions to a reward"; None if no run has a reward."""
    ends = [curves[REWARD].part(*LAST) for curves in metrics if REWARD in curves]
    return REACHED * float(np.median(ends)) if ends else None


def _numbers(curves: dict[str, Curve], goal: float | None) -> list[float | None]:
    numbers = [curves[tag].part(*part) if tag in curves else None for _, tag, part, _ in COLUMNS]
    return numbers if goal is None else [*numbers, curves[REWARD].reached(goal) if REWARD in curves else None]


def _cells(numbers: Sequence[float | None], goal: float | None) -> list[str]:
    forms = [form for *_, form in COLUMNS] + ([] if goal is None else ["{:,.0f}"])
    cells = []
    for number, form in zip(numbers, forms, strict=True):
        cells.append("" if number is None else form.format(number) if np.isfinite(number) else "never")
    return cells


def _facts(run: Path) -> list[str]:
    card = _card(run)
    if card is None:
        return [run.name, "", "no card", "", ""]
    return [
        run.name,
        str(card["config"]["seed"]),
        card["status"],
        f"{card['decisions']:,}",
        f"{card['wall_s'] / 60:.1f}",
    ]


def write_report(populations: Sequence[Population], written: Path, picture: Path) -> list[Path]:
    """Write the table, and the picture if any run has metrics; return the files.

    Raises UserError, also for a run that does not exist.
    """
    write_atomically(written, f"{table(populations)}\n".encode())
    if not any(read_metrics(run) for population in populations for run in population.runs):
        return [written]  # no run has completed an update
    draw({population.name: population.runs for population in populations}, picture)
    return [written, picture]


@command("population", OSError)
def main(argv: Sequence[str]) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.sweeps.population", description="Report on all seeds of a training."
    )
    parser.add_argument("folders", nargs="+", type=Path, help="populations, or runs to report as one population")
    parser.add_argument("--picture", type=Path, help="another picture to write: .png, .svg or .pdf")
    arguments = parser.parse_args(argv)
    populations = find_populations(arguments.folders)
    print(table(populations))
    files: list[Path] = []
    if populations[0].runs != tuple(arguments.folders):
        for folder, population in zip(arguments.folders, populations, strict=True):
            files += write_report([population], folder / TABLE_NAME, folder / PICTURE_NAME)
    if arguments.picture:
        draw({population.name: population.runs for population in populations}, arguments.picture)
        files.append(arguments.picture)
    if files:
        print(f"\n{', '.join(map(str, files))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
