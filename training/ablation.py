"""Train variants over several seeds and put them side by side: what does a part of the training buy?

    python -m training.ablation runs/imitation --seeds 1 2 3 --common profile=bottleneck algo=ppo \\
        --variant plain --variant warm algo.imitate=build/teachers/bottleneck.parquet

trains runs/imitation/plain-1, warm-1, plain-2, ... with train.py, one after the other, and prints a table of all seeds.
Runs that are there are taken as they are, or resumed: the same command goes on after an interruption, and one with more
seeds adds to what there is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from training import checkpoint
from training.checkpoint import CheckpointError
from training.curves import CurvesError, FloatArray, draw, read_metric

TRAIN = Path(__file__).resolve().parents[1] / "train.py"
REWARD = "charts/reward"
PARTS = {"first tenth": (0.0, 0.1), "first third": (0.0, 1 / 3), "all": (0.0, 1.0), "last tenth": (0.9, 1.0)}
REACHED = 0.95  # of the reward that the first variant ends with


class AblationError(Exception):
    """An ablation that cannot be made; the text says why."""


@dataclass(frozen=True)
class Variant:
    """A name, and what train.py is given besides what all have in common."""

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """Mean reward of a decision, update by update. decisions, rewards: [updates]."""

    decisions: FloatArray
    rewards: FloatArray

    def part(self, begin: float, end: float) -> float:
        """Return the mean between two shares of the training; of the nearest update where none lies between."""
        total = self.decisions[-1]
        inside = (self.decisions > begin * total) & (self.decisions <= end * total)
        if not inside.any():
            inside = np.arange(self.decisions.size) == np.searchsorted(self.decisions, end * total)
        return float(self.rewards[inside].mean())

    def reached(self, reward: float) -> float:
        """Return the decisions after which the reward was first that high; infinite when it never was."""
        high = np.flatnonzero(self.rewards >= reward)
        return float(self.decisions[high[0]]) if high.size else np.inf


def train(folder: Path, common: Sequence[str], variant: Variant, seed: int) -> Path:
    """Have one run trained to its end; returns its folder. Raises AblationError."""
    run = folder / f"{variant.name}-{seed}"
    if checkpoint.checkpoint_path(run).is_file():
        saved = checkpoint.load(run)
        if saved["decisions"] >= saved["config"]["algo"]["total_decisions"]:
            return run
        arguments = [f"resume={run}"]
    else:
        arguments = [*common, *variant.overrides, f"seed={seed}", f"name={run.name}", f"runs={folder}"]
    print(f"python train.py {' '.join(arguments)}", file=sys.stderr, flush=True)
    if subprocess.run([sys.executable, str(TRAIN), *arguments], check=False).returncode:
        raise AblationError(f"{run} was not trained to its end: the same command goes on there")
    return run


def table(curves: dict[str, dict[int, Curve]]) -> str:
    """Return a Markdown table: a row for each variant and seed, then the medians. curves: by variant, then seed."""
    first = next(iter(curves.values()))
    goal = REACHED * median(curve.part(*PARTS["last tenth"]) for curve in first.values())
    heads = ["variant", "seed", *(f"reward, {name}" for name in PARTS), f"decisions to {goal:.3f}"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]

    def line(variant: str, seed: str, numbers: Sequence[float]) -> str:
        reached = f"{numbers[-1]:,.0f}" if np.isfinite(numbers[-1]) else "never"
        return f"| {' | '.join([variant, seed, *(f'{number:.3f}' for number in numbers[:-1]), reached])} |"

    medians = []
    for variant, of_seeds in curves.items():
        rows = {
            seed: [*(curve.part(*part) for part in PARTS.values()), curve.reached(goal)]
            for seed, curve in of_seeds.items()
        }
        lines += [line(variant, str(seed), numbers) for seed, numbers in rows.items()]
        medians.append(line(variant, "median", [median(column) for column in zip(*rows.values(), strict=True)]))
    return "\n".join([*lines, *medians])


def parse(argv: Sequence[str]) -> tuple[Path, list[int], list[str], list[Variant]]:
    """Return the folder, the seeds, what is common, and the variants. Raises AblationError."""
    parser = argparse.ArgumentParser(
        prog="python -m training.ablation", description="Train variants, and compare them."
    )
    parser.add_argument("folder", type=Path, help="of the runs, the picture and the table")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--common", nargs="+", default=[], metavar="KEY=VALUE", help="what every run is given")
    parser.add_argument(
        "--variant",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "KEY=VALUE"),
        help="a variant, and what its runs are given besides; the first one is what the others are compared with",
    )
    arguments = parser.parse_args(argv)
    variants = [Variant(name, tuple(overrides)) for name, *overrides in arguments.variant]
    names = [variant.name for variant in variants]
    if len(set(names)) < len(names) or any("=" in name for name in names):
        raise AblationError(f"the variants are called {', '.join(names)}; each needs a name of its own, without =")
    return arguments.folder, arguments.seeds, arguments.common, variants


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    try:
        folder, seeds, common, variants = parse(argv)
        runs = {(variant.name, seed): train(folder, common, variant, seed) for seed in seeds for variant in variants}
        curves = {
            variant.name: {seed: Curve(*read_metric(runs[variant.name, seed], REWARD)) for seed in seeds}
            for variant in variants
        }
        text = table(curves)
        (folder / "ablation.md").write_text(f"{text}\n")
        draw([runs[variant.name, seed] for variant in variants for seed in seeds], folder / "ablation.png")
    except (AblationError, CheckpointError, CurvesError, OSError) as error:
        print(f"ablation: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ablation: interrupted; the same command goes on", file=sys.stderr)
        return 130
    print(f"{text}\n\n{folder / 'ablation.md'}, {folder / 'ablation.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
