"""The leaderboard in docs/results/results.md, and the table of docs/results/targets.md::

python -m studies.leaderboard                          # redraw the tables from datasets/leaderboard
python -m studies.leaderboard --check                  # only say whether they are up to date
python -m studies.leaderboard enter mine@tcp_mine.c    # measure a scheme, add its rows, redraw the tables
python -m studies.leaderboard add results/targets      # add the rows of a stored comparison of targets
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from compare.command.measurement import Interrupted
from compare.command.targets import measure_targets
from compare.experiment.config import CompareConfig
from compare.targets.catalogue import find_targets
from compare.targets.stored import holds_targets
from env.checkout import DOCS, RESULTS
from env.command import command
from env.errors import UserError, suggest
from env.files import generate
from env.lab import LabError
from env.network.schemes import find_schemes
from studies.documents.pages import fill_blocks
from studies.leaderboard.judging import RANKED, YARDSTICKS, judged
from studies.leaderboard.page import leaderboard, targets
from studies.leaderboard.stored_scores import FOLDER, read_figures, read_scores, store

COMMAND = "python -m studies.leaderboard"
SEEDS = 3


def render(page: Path) -> str:
    """Return a page with new tables."""
    makers = {
        "leaderboard": lambda: leaderboard(read_scores()),
        "targets": lambda: targets(read_scores(), read_figures()),
    }
    return fill_blocks(page.read_text(), lambda block: makers[block]() if block in makers else None)


PAGES = {page: partial(render, page) for page in (DOCS / "results" / "results.md", DOCS / "results" / "targets.md")}


def add(folder: Path, only: Sequence[str] = (), stored: Path = FOLDER) -> list[str]:
    """Add the rows of a folder's stored targets to the stored scores; returns the schemes added.

    only: as for judged(). Raises UserError.
    """
    if not holds_targets(folder):
        raise UserError(f"{folder} holds no targets: give the output_dir of a comparison with targets=")
    rows = list(judged(folder, only))
    if not rows:
        raise UserError(f"{folder} holds no finished run of {', '.join(only)}")
    store([score for score, _ in rows], [figure for _, figures in rows for figure in figures], stored)
    return list(dict.fromkeys(score.scheme for score, _ in rows))


def enter(names: Sequence[str], targets: Sequence[str], seeds: int, reuse: str | None) -> list[str]:
    """Measure schemes on targets, beside the yardsticks, and add their rows; returns the schemes added.

    Raises UserError, before anything runs for a wrong name, and Interrupted; the same command then goes on.
    """
    schemes = find_schemes(names)
    find_targets(targets)
    for target in targets:
        if target not in RANKED:
            raise UserError(
                f"target {target!r} is not ranked{suggest(target, RANKED)}The ranked ones are {', '.join(RANKED)}"
            )
    label = "+".join(scheme.short_name for scheme in schemes)
    folder = RESULTS / "leaderboard" / re.sub(r"[^A-Za-z0-9_.-]+", "-", label)
    both = [*names, *(name for name in YARDSTICKS if name not in names)]
    config = CompareConfig(targets=list(targets), schemes=both, seeds=seeds, output_dir=str(folder), reuse=reuse)
    measure_targets(config)
    return add(folder, names)


@command("leaderboard", LabError)
def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    if not argv or argv == ["--check"]:
        return generate(COMMAND, PAGES, argv)
    parser = argparse.ArgumentParser(prog=COMMAND, description="Without arguments: redraw the tables of docs/results.")
    commands = parser.add_subparsers(dest="command", required=True)
    entering = commands.add_parser("enter", help="measure schemes, add their rows and redraw the tables")
    entering.add_argument("schemes", nargs="+", help="as in compare.py: mine@tcp_mine.c, ndm@mixed, ndm@runs/NAME")
    entering.add_argument("--targets", nargs="+", default=list(RANKED), help=f"default: {' '.join(RANKED)}")
    entering.add_argument("--seeds", type=int, default=SEEDS, help="runs of a scenario; default: %(default)s")
    entering.add_argument("--reuse", help="output_dir of other targets, whose runs are taken where they fit")
    adding = commands.add_parser("add", help="add the rows of a stored comparison of targets and redraw the tables")
    adding.add_argument("folder", type=Path, help="its output_dir")
    adding.add_argument("--only", nargs="+", default=[], metavar="SCHEME", help="the schemes to add; default: all")
    given = parser.parse_args(argv)
    try:
        if given.command == "enter":
            added = enter(given.schemes, given.targets, given.seeds, given.reuse)
        else:
            added = add(given.folder, given.only)
    except Interrupted as error:
        print(f"\n{error}", file=sys.stderr)
        return 130
    print(f"added to the leaderboard: {', '.join(added) or 'nothing'}")
    return generate(COMMAND, PAGES, [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
