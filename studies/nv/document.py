"""The tables of docs/results/tcp-nv.md, from stored comparisons::

    python -m studies.nv.document docs/results/tcp-nv.md results/nv [results/nv-long ...]

replaces the text between ``<!-- table 1 -->`` and ``<!-- end -->`` (tables 1 to 7, and ``claims``) in the document, and
prints the figures that decide each claim. If several folders hold a scenario and scheme, the tables use the first
folder's runs, and claims about minutes use the longest runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from compare.experiment.store import Store
from compare.metrics.cells import Cell, read_cells
from compare.published.tcp_nv import FRAMES_FOLDER, SCENARIO_FOLDER, PublishedRow, load_tables, published_values
from compare.report.groups import COLUMNS, GroupRow, group_rows
from compare.statistics.numbers import number
from env.command import command
from env.errors import UserError
from env.markdown import markdown_table
from studies.documents.pages import fill_blocks
from studies.nv.claims import Evidence, judge_claims

TABLES = range(1, 8)  # of the paper
SHOWN = ("cwnd", "rtt", "rate", "retrans_pct", "p99_latency")  # of COLUMNS


def render_document(document: str, folders: Sequence[Path]) -> str:
    """Return the document with new generated blocks; raises UserError for a block without its runs."""
    cells = _read(folders)
    tables, first = load_tables(), _first(cells)

    makers: dict[str, Callable[[], str]] = {f"table {n}": partial(table, n, first, tables) for n in TABLES}
    makers["claims"] = partial(claims_table, cells)
    return fill_blocks(document, lambda comment: makers[comment]() if comment in makers else None)


def _read(folders: Sequence[Path]) -> list[Cell]:
    return [cell for store in map(Store, folders) for cell in read_cells(store.experiment(), store)]


def _first(cells: Sequence[Cell]) -> list[Cell]:
    """Return the first cell of each scenario and scheme."""
    first: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        first.setdefault((cell.scenario.name, cell.scheme.name), cell)
    return list(first.values())


def table(which: int, cells: Sequence[Cell], tables: Sequence[PublishedRow]) -> str:
    """Return one of the paper's tables as Markdown.

    Each field has the mean measured in packets of up to 64 KB, that in packets of four frames (if measured), and the
    paper's value. Where flows have requests of several sizes, each size has a row; else there is a row for all.
    """
    published = [row for row in tables if row.table == which]
    scenarios = list(dict.fromkeys(row.scenario for row in published))
    rows = _rows(cells, published, scenarios)
    missing = [scenario for scenario in scenarios if scenario not in {row.cell.scenario.name for row in rows}]
    if missing:
        raise UserError(f"table {which}: no finished run of {', '.join(missing)} in these folders")
    frames = {
        (_short(row.cell.scenario.name), row.cell.scheme.name, row.group.label): row
        for row in _rows(cells, published, [f"{FRAMES_FOLDER}/{_short(scenario)}" for scenario in scenarios])
    }
    columns = [column for column in COLUMNS if column.name in SHOWN]
    sized = [row for row in rows if row.group.label not in ("", "client")]
    lines = []
    for row in sized or [row for row in rows if not row.group.label]:
        in_frames = frames.get((_short(row.cell.scenario.name), row.cell.scheme.name, row.group.label))
        fields = [_figures(row, in_frames, column.name) for column in columns]
        names = [_short(row.cell.scenario.name), row.cell.scheme.label, *([row.group.title] if sized else [])]
        lines.append([*names, *fields])
    heads = ["experiment", "scheme", *(["flows"] if sized else [])]
    return markdown_table([*heads, *(f"{c.title}{_unit(c.unit)}" for c in columns)], lines, left=len(heads)) + "\n"


def _rows(cells: Sequence[Cell], published: Sequence[PublishedRow], scenarios: Sequence[str]) -> list[GroupRow]:
    values = published_values(published)
    return [
        row
        for scenario in scenarios
        for row in group_rows([cell for cell in cells if cell.scenario.name == scenario and cell.seeds], values)
    ]


def _figures(row: GroupRow, frames: GroupRow | None, column: str) -> str:
    """Return "measured/in frames/paper's" with a dash for a missing value; only the first if it is alone."""
    estimates = [row.measured.get(column), None if frames is None else frames.measured.get(column)]
    shown = ["–" if estimate is None else number(estimate.mean) for estimate in estimates]
    paper = row.figure(column)
    shown.append("–" if paper is None else number(paper))
    return "/".join(shown) if shown[1:] != ["–", "–"] else shown[0]


def claims_table(cells: Sequence[Cell]) -> str:
    """Return the paper's claims as Markdown, each with its verdicts."""
    here, frames = (judge_claims(Evidence(cells, folder)) for folder in (SCENARIO_FOLDER, FRAMES_FOLDER))
    lines = []
    for claim, in_frames in zip(here, frames, strict=True):
        shown = [one.verdict.value or "not decided" for one in (claim, in_frames)]
        lines.append([claim.section, claim.text, *shown])
    heads = ["section", "claim", "here", "in packets of four frames"]
    return markdown_table(heads, lines) + "\n"


def _short(scenario: str) -> str:
    return scenario.rpartition("/")[2]


def _unit(unit: str) -> str:
    return "" if unit in ("count", "1") else f", {unit}"


@command("studies.nv.document", OSError)
def main(arguments: Sequence[str]) -> None:
    """The command line: the document, then the folders of comparisons."""
    if len(arguments) < 2:
        sys.exit("usage: python -m studies.nv.document DOCUMENT RESULTS [RESULTS ...]")
    document, *folders = map(Path, arguments)
    text = render_document(document.read_text(), folders)
    for folder in (SCENARIO_FOLDER, FRAMES_FOLDER):
        for claim in judge_claims(Evidence(_read(folders), folder)):
            print(f"{claim.section} {folder}: {claim.text}: {claim.verdict.value}: {claim.measured}")
    document.write_text(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
