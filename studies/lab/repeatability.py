"""Repeat a comparison in other orders and count the files that differ: ``python -m studies.lab.repeatability DIR``

A run of a seed shall have the same bytes whatever its lab did before. The order of the schemes and the number of labs
decide which runs that were, and how many. The runs of each order are in a folder of DIR; a second call goes on where
the first was stopped. The exit status is 1 if a file differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from compare import compare
from env.errors import UserError
from env.files import sha256
from env.markdown import markdown_table

SCENARIOS = (
    *("access", "buffers", "chain", "change", "compete", "delay", "disorder", "harm", "loss", "queue", "rate"),
    *("recorded", "start"),
)
SCHEMES = ("ndm", "cubic", "bbr", "vegas")
DURATION_S = 8.0


def orders(schemes: Sequence[str]) -> dict[str, tuple[list[str], int]]:
    """Return by name the order of the schemes, and the number of labs."""
    half = len(schemes) // 2
    return {
        "as given": ([*schemes], 2),
        "backwards": ([*reversed(schemes)], 2),
        "the second half first": ([*schemes[half:], *schemes[:half]], 1),
    }


def hashes(folder: Path) -> dict[Path, str]:
    """Return the SHA-256 of each file of the runs in a comparison's folder, by its path there."""
    runs = folder / "runs"
    return {
        file.relative_to(runs): sha256(file) for file in sorted(runs.rglob("*")) if file.suffix in (".json", ".parquet")
    }


def differing(first: dict[Path, str], second: dict[Path, str]) -> list[Path]:
    """Return the files that are not the same in both, or in one only."""
    return sorted(file for file in first.keys() | second.keys() if first.get(file) != second.get(file))


def main(argv: list[str] | None = None) -> int:
    """Print a table of the orders, and the files that differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="of the runs")
    parser.add_argument("--scenarios", nargs="+", default=SCENARIOS, help="scenarios, or folders of them")
    parser.add_argument("--schemes", nargs="+", default=SCHEMES)
    parser.add_argument("--duration-s", type=float, default=DURATION_S, help="of each run")
    arguments = parser.parse_args(argv)
    options = {"seeds": 1, "duration_s": arguments.duration_s}
    rows, first, wrong = [], None, set[Path]()
    for number, (name, (schemes, labs)) in enumerate(orders(arguments.schemes).items(), 1):
        output = arguments.folder / str(number)
        try:
            done = compare(arguments.scenarios, schemes, jobs=labs, output_dir=str(output), **options)
        except UserError as error:
            parser.error(str(error))
        if len(done.failed):
            print(done.failed.to_string(index=False), file=sys.stderr)
            return 1
        files = hashes(output)
        first = files if first is None else first
        differ = differing(first, files)
        wrong |= {*differ}
        rows.append([name, str(labs), str(len({file.parent for file in files})), str(len(files)), str(len(differ))])
    print(markdown_table(["schemes", "labs", "runs", "files", "differ from the first"], rows, left=1))
    for file in sorted(wrong):
        print(file)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
