"""The joint score along a training, beside its reward, and the policy with the highest one.

    python -m studies.learning.training_score runs/mine                # of a finished training
    python -m studies.learning.training_score runs/mine --follow       # while train.py name=mine runs

A training maximizes a reward; what is wanted is the joint score (docs/results/targets.md). Where the two disagree, the
reward is wrong. train.py keeps policies along the training (milestones=). This command measures each on the target
`development`, as the int16 model in the kernel. In RUN/score/ it writes scores.csv, with a row per milestone, and
score.png; TensorBoard shows score/joint as run RUN/score. RUN/score/best/ is the milestone with the highest score,
which exports like a run. The same command continues after an interruption.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from torch.utils.tensorboard import SummaryWriter

from compare.command.measurement import Interrupted
from compare.command.progress import terminal
from compare.errors import CompareError
from compare.statistics.numbers import number
from compare.targets.catalogue.development import DEVELOPMENT
from compare.targets.target import Target
from env.files import write_atomically
from env.markdown import markdown_table
from export.checkpoint import FILE_NAME
from export.integer.model import ExportError
from export.zoo import find_run
from studies.learning.joint_score import JointScores
from training.run_folder.card import JSON_NAME
from training.run_folder.curves import Curve, read_metrics
from training.run_folder.recorder import MILESTONES

COLUMNS = ("decisions", "score", "lo", "hi")  # then what each requirement adds
REWARD = "charts/reward"
POLL_S = 5.0
Row = list[float]  # NaN where a policy does not export


def score_training(
    run: Path, seeds: int, console: Console, *, follow: bool = False, target: Target = DEVELOPMENT
) -> list[Row]:
    """Measure all milestones of a run that have no score yet; return the rows of scores.csv, in order.

    follow: wait for further milestones until the training has ended. Raises CompareError, and Interrupted on Ctrl-C.
    """
    folder = run / "score"
    head = columns_of(target)
    rows = _read(folder / "scores.csv", head)
    scores: JointScores | None = None
    with SummaryWriter(str(folder)) as writer:
        while True:
            # first, so that no milestone is missed: the last one is written before the training's end
            ended = not follow or _status(run) not in ("", "running")
            for milestone in _milestones(run):
                if int(milestone.name) in (row[0] for row in rows):
                    continue
                scores = scores or JointScores(folder / "references", seeds, console, target)
                rows = sorted([*rows, _measured(scores, milestone, folder, len(head))])
                _write(folder / "scores.csv", head, rows)
                writer.add_scalar("score/joint", rows[-1][1], int(milestone.name))
                _keep_best(run, rows)
                _draw(run, head, rows)
            if ended:
                break
            time.sleep(POLL_S)
    if not rows:
        raise CompareError(f"{run} has no milestones: train with milestones=10")
    return rows


def columns_of(target: Target) -> list[str]:
    """Return the columns of scores.csv."""
    return [*COLUMNS, *(requirement.name for requirement in target.requirements)]


def _measured(scores: JointScores, milestone: Path, folder: Path, columns: int) -> Row:
    nan, decisions = float("nan"), float(milestone.name)
    (measured,) = scores.of(folder / "runs", [milestone])
    if measured is None:
        return [decisions, *([nan] * (columns - 1))]
    score, parts = measured
    return [decisions, score.mean, *(score.interval or (nan, nan)), *parts]


def _milestones(run: Path) -> list[Path]:
    return sorted(file.parent for file in (run / MILESTONES).glob(f"*/{FILE_NAME}"))


def _status(run: Path) -> str:
    try:
        return str(json.loads((run / JSON_NAME).read_text())["status"])
    except FileNotFoundError:
        return ""


def _read(file: Path, head: Sequence[str]) -> list[Row]:
    if not file.exists():
        return []
    found, *rows = csv.reader(file.read_text().splitlines())
    if found != list(head):
        raise CompareError(f"{file} has other columns than {', '.join(head)}: delete it to measure again")
    return [list(map(float, row)) for row in rows]


def _write(file: Path, head: Sequence[str], rows: Sequence[Row]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([[int(row[0]), *(f"{value:.4f}" for value in row[1:])] for row in rows])
    write_atomically(file, text.getvalue().encode())


def best_of(rows: Sequence[Row]) -> Row:
    """Return the row with the highest score; the first one if no policy exports."""
    return max(rows, key=lambda row: -np.inf if np.isnan(row[1]) else row[1])


def _keep_best(run: Path, rows: Sequence[Row]) -> None:
    milestone = run / MILESTONES / f"{int(best_of(rows)[0]):09d}"
    (run / "score" / "best").mkdir(exist_ok=True)
    write_atomically(run / "score" / "best" / FILE_NAME, (milestone / FILE_NAME).read_bytes())


def _draw(run: Path, head: Sequence[str], rows: Sequence[Row]) -> None:
    """Draw the score and the reward against the decisions, and what each requirement adds."""
    table = np.array(rows)  # [milestones, columns]
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    thousands = table[:, 0] / 1e3
    left.errorbar(thousands, table[:, 1], [table[:, 1] - table[:, 2], table[:, 3] - table[:, 1]], marker="o", capsize=2)
    left.set_ylabel("joint score, 95 % interval")
    reward: Curve | None = read_metrics(run).get(REWARD)
    if reward is not None:
        beside = left.twinx()
        beside.plot(reward.decisions / 1e3, reward.values, color="C1", alpha=0.5, linewidth=0.8)
        beside.set_ylabel("reward per decision", color="C1")
    for part, name in enumerate(head[len(COLUMNS) :], len(COLUMNS)):
        right.plot(thousands, table[:, part], label=name, linewidth=1)
    right.set_ylabel("mean margin of a requirement")
    right.legend(fontsize="x-small", ncols=2)
    for panel in (left, right):
        panel.set_xlabel("decisions (thousands)")
        panel.grid(alpha=0.3)
    figure.savefig(run / "score" / "score.png", dpi=130)


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.learning.training_score", description="Measure the joint score along a training."
    )
    parser.add_argument("run", help="run folder of train.py")
    parser.add_argument("--seeds", type=int, default=3, help="runs per scenario")
    parser.add_argument("--follow", action="store_true", help="wait for further milestones until the training ends")
    given = parser.parse_args(argv)
    console = terminal()
    try:
        run = find_run(given.run).resolve()
        rows = score_training(run, given.seeds, console, follow=given.follow)
    except (CompareError, ExportError, OSError) as error:
        print(f"training_score: {error}", file=sys.stderr)
        return 1
    except Interrupted as error:
        print(f"training_score: {error}", file=sys.stderr)
        return 130
    texts = [[f"{int(row[0]):,}", *("–" if np.isnan(value) else number(value) for value in row[1:])] for row in rows]
    print(markdown_table(columns_of(DEVELOPMENT), texts))
    print(f"the highest score has {run / 'score' / 'best'}: {number(best_of(rows)[1])} after {best_of(rows)[0]:,.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
