"""Train variants over several seeds and put them side by side: what does a part of the training buy?

    python -m compare.studies.ablation runs/imitation --seeds 1 2 3 --common profile=bottleneck algo=ppo \\
        --variant plain --variant warm algo.imitate=build/experts/bottleneck.parquet

trains the populations runs/imitation/plain and runs/imitation/warm, one after the other, each by `train.py -m`, and
prints a table of all their seeds, and then the variants side by side. What is trained stays: the same command goes on
after an interruption, and one with more seeds adds to what there is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.studies.side_by_side import side_by_side
from env.checkout import ROOT
from env.files import write_atomically
from export.checkpoint import CheckpointError
from export.integer.model import ExportError
from training.run_folder.curves import CurvesError
from training.sweeps.population import PopulationError, find_populations, table, write_report

TRAIN = ROOT / "train.py"
TABLE_NAME = "ablation.md"
SIDE_BY_SIDE_NAME = "side_by_side.md"
PICTURE_NAME = "ablation.png"


class AblationError(Exception):
    """An ablation that cannot be made; the text says why."""


@dataclass(frozen=True)
class Variant:
    """A name, and what train.py is given besides what all have in common."""

    name: str
    overrides: tuple[str, ...]


def train(folder: Path, common: Sequence[str], variant: Variant, seeds: Sequence[int]) -> bool:
    """Have a variant trained with all seeds; False when some run failed. Raises KeyboardInterrupt."""
    arguments = [*common, *variant.overrides, f"seed={','.join(map(str, seeds))}"]
    arguments += [f"name={variant.name}", f"runs={folder}"]
    print(f"python train.py -m {' '.join(arguments)}", file=sys.stderr, flush=True)
    # its report of one variant goes to the terminal's other stream: this command's output is the table of all
    with subprocess.Popen([sys.executable, str(TRAIN), "-m", *arguments], stdout=sys.stderr) as training:
        try:
            status = training.wait()
        except KeyboardInterrupt:
            training.wait()  # it has got the signal too, and saves itself
            raise
    if status == 130:
        raise KeyboardInterrupt
    return status == 0


def parse(argv: Sequence[str]) -> tuple[Path, list[int], list[str], list[Variant]]:
    """Return the folder, the seeds, what is common, and the variants. Raises AblationError."""
    parser = argparse.ArgumentParser(
        prog="python -m compare.studies.ablation", description="Train variants, and compare them."
    )
    parser.add_argument("folder", type=Path, help="of the populations, the picture and the table")
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
        trained = [train(folder, common, variant, seeds) for variant in variants]
        populations = find_populations([folder / variant.name for variant in variants])
        text = table(populations)
        files = write_report(populations, folder / TABLE_NAME, folder / PICTURE_NAME)
        beside = side_by_side(populations)
        files.append(folder / SIDE_BY_SIDE_NAME)
        write_atomically(files[-1], beside.encode())
    except (AblationError, CheckpointError, CurvesError, ExportError, PopulationError, OSError) as error:
        print(f"ablation: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ablation: interrupted; the same command goes on", file=sys.stderr)
        return 130
    print(f"{text}\n\n{beside}\n{', '.join(map(str, files))}")
    return 0 if all(trained) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
