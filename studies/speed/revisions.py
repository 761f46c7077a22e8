"""Compare the speed of this checkout with an older revision: `make -C studies bench`.

The older revision is checked out and built in build/bench. Each measurement of revision_measure.py runs in both
checkouts alternately, in another order each time. The table has the medians, and the median of the ratios of each pair,
which a busy machine changes less than the figures. Its last column says whether both gave the same results to the byte.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from env.checkout import BUILD, ROOT
from env.command import command
from env.errors import UserError
from env.markdown import markdown_table
from studies.speed import revision_measure
from studies.speed.revision_measure import MEASUREMENTS, Measured

OLD = "7e8d117"  # what the targets are relative to
PAIRS = 3
TIMEOUT_S = 900


class Pair(NamedTuple):
    """One measurement in both checkouts."""

    old: Measured
    new: Measured


def checkout(revision: str) -> Path:
    """Return a built checkout of a revision. Raises UserError with the failed command's last lines."""
    name = output_of(["git", "rev-parse", "--verify", "--short", f"{revision}^{{commit}}"], ROOT).strip()
    folder = BUILD / "bench" / name
    add_worktree(folder, name)
    output_of(["make", "module"], folder)
    return folder


def add_worktree(folder: Path, revision: str) -> None:
    """Check a revision out into a folder that does not exist yet, with this checkout's .venv. Raises UserError."""
    if not folder.exists():
        output_of(["git", "worktree", "prune"], ROOT)
        output_of(["git", "worktree", "add", "--detach", str(folder), revision], ROOT)
        (folder / ".venv").symlink_to((ROOT / ".venv").resolve())


def measure(name: str, folder: Path) -> Measured:
    """Make a measurement in a checkout. Raises UserError."""
    answer = output_of([sys.executable, "-P", revision_measure.__file__, name], folder)
    return Measured(**json.loads(answer.splitlines()[-1]))


def output_of(argv: list[str], folder: Path) -> str:
    """Run a command in a checkout, which must succeed, and return what it printed. Raises UserError."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    try:
        done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{' '.join(argv)} took more than {TIMEOUT_S / 60:g} minutes in {folder}") from error
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise UserError(f"{' '.join(argv)} failed ({done.returncode}) in {folder}:\n{last}")
    return done.stdout


def row(name: str, pairs: list[Pair]) -> list[str]:
    """Return a row of the table: what, unit, old, new, ratio, its spread, equal results."""
    old, new = (statistics.median(values) for values in zip(*((p.old.value, p.new.value) for p in pairs), strict=True))
    ratios = [pair.new.value / pair.old.value for pair in pairs]
    equal = {(pair.old.digest == pair.new.digest) for pair in pairs} if pairs[0].new.digest else set()
    return [
        MEASUREMENTS[name].what,
        pairs[0].new.unit,
        f"{old:.4g}",
        f"{new:.4g}",
        f"{statistics.median(ratios):.2f}",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
        "" if not equal else "yes" if equal == {True} else "no",
    ]


@command("error", subprocess.TimeoutExpired)
def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--old", default=OLD, help="the older revision (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of each measurement (default: %(default)s)")
    parser.add_argument(
        "--only", nargs="+", default=list(MEASUREMENTS), choices=MEASUREMENTS, help="these measurements (default: all)"
    )
    arguments = parser.parse_args(argv)
    rows = []
    try:
        old = checkout(arguments.old)
        with tqdm(total=len(arguments.only) * arguments.pairs, disable=None) as progress:
            for name in arguments.only:
                pairs = []
                for number in range(arguments.pairs):
                    progress.set_description(name)
                    first, second = (old, ROOT) if number % 2 else (ROOT, old)
                    measured = {folder: measure(name, folder) for folder in (first, second)}
                    pairs.append(Pair(measured[old], measured[ROOT]))
                    progress.update()
                rows.append(row(name, pairs))
    except KeyboardInterrupt:
        print("interrupted; the measurements so far:", file=sys.stderr)
    print(markdown_table(["", "unit", arguments.old, "now", "ratio", "ratios of the pairs", "equal results"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
