"""Train variants over several seeds and compare them, to measure the effect of a part of the training.

    python -m studies.learning.ablation runs/memory --seeds 1 2 3 --common profile=bottleneck algo=ppo \\
        --variant plain --variant memoryless algo.recurrent=false

trains the populations runs/memory/plain and runs/memory/memoryless, one after the other, each with `train.py -m`. It
prints a table of all seeds and a comparison of the variants. Finished runs are kept: the same command continues after
an interruption, and a command with more seeds trains only the new ones.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from env.checkout import ROOT
from env.command import command
from env.errors import UserError
from env.files import write_atomically
from studies.learning.side_by_side import side_by_side
from training.sweeps.population import find_populations, table, write_report

TABLE_NAME = "ablation.md"
SIDE_BY_SIDE_NAME = "side_by_side.md"
PICTURE_NAME = "ablation.png"


@dataclass(frozen=True)
class Variant:
    """A variant. overrides: options of train.py in addition to the common ones."""

    name: str
    overrides: tuple[str, ...]


def train(folder: Path, common: Sequence[str], variant: Variant, seeds: Sequence[int], checkout: Path = ROOT) -> bool:
    """Train a variant with all seeds, by a checkout's train.py; returns False if a run failed.

    Raises KeyboardInterrupt.
    """
    arguments = [*common, *variant.overrides, f"seed={','.join(map(str, seeds))}"]
    arguments += [f"name={variant.name}", f"runs={folder.resolve()}"]
    print(f"python train.py -m {' '.join(arguments)}", file=sys.stderr, flush=True)
    # the report on a single variant goes to stderr, because stdout is for the table of all variants
    return run_to_end([str(checkout / "train.py"), "-m", *arguments], checkout) == 0


def run_to_end(arguments: Sequence[str], checkout: Path) -> int:
    """Run Python in a checkout, with its output on stderr; returns the status. Raises KeyboardInterrupt on Ctrl-C.

    The command receives Ctrl-C too, and keeps what is finished.
    """
    with subprocess.Popen([sys.executable, *arguments], cwd=checkout, stdout=sys.stderr) as process:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise
    if status == 130:
        raise KeyboardInterrupt
    return status


def parse(argv: Sequence[str]) -> tuple[Path, list[int], list[str], list[Variant]]:
    """Return the folder, the seeds, the common options and the variants. Raises UserError."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.learning.ablation", description="Train variants, and compare them."
    )
    parser.add_argument("folder", type=Path, help="folder for the populations, the picture and the table")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--common", nargs="+", default=[], metavar="KEY=VALUE", help="options of every run")
    parser.add_argument(
        "--variant",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "KEY=VALUE"),
        help="a variant and its options; the other variants are compared with the first one",
    )
    arguments = parser.parse_args(argv)
    variants = [Variant(name, tuple(overrides)) for name, *overrides in arguments.variant]
    names = [variant.name for variant in variants]
    if len(set(names)) < len(names) or any("=" in name for name in names):
        raise UserError(f"the variants are called {', '.join(names)}; names must be unique and must not contain =")
    return arguments.folder, arguments.seeds, arguments.common, variants


@command("ablation", OSError)
def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    try:
        folder, seeds, common, variants = parse(argv)
        trained = [train(folder, common, variant, seeds) for variant in variants]
        populations = find_populations([folder / variant.name for variant in variants])
        text = table(populations)
        files = write_report(populations, folder / TABLE_NAME, folder / PICTURE_NAME)
        comparison = side_by_side(populations)
        files.append(folder / SIDE_BY_SIDE_NAME)
        write_atomically(files[-1], comparison.encode())
    except KeyboardInterrupt:
        print("ablation: interrupted; the same command continues", file=sys.stderr)
        return 130
    print(f"{text}\n\n{comparison}\n{', '.join(map(str, files))}")
    return 0 if all(trained) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
