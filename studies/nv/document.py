"""The tables of docs/results/tcp-nv.md, from stored comparisons::

    python -m studies.nv.document docs/results/tcp-nv.md results/nv [results/nv-long ...]

replaces the text between ``<!-- table 1 -->`` and ``<!-- end -->`` (tables 1 to 7, and ``claims``, ``causes``,
``runs``) in the document. If several folders hold a scenario and scheme, the tables use the first folder's runs, and
claims about minutes use the longest runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from compare.errors import CompareError
from compare.experiment.store import Store
from compare.metrics.cells import Cell, read_cells
from compare.report.tables.group import COLUMNS, GroupRow, group_rows, shown_columns
from compare.report.tables.paper import FRAMES_FOLDER, SCENARIO_FOLDER, PublishedRow, load_tables, paper_scenario
from compare.statistics.numbers import number
from env.markdown import markdown_table
from studies.documents.pages import fill_blocks
from studies.nv.claims import Evidence, judge_claims

TABLES = range(1, 8)  # of the paper
CAUSES_FOLDER = "nv_causes"  # of configs/scenario: the same experiments with another buffer or packet size


def render_document(document: str, folders: Sequence[Path]) -> str:
    """Return the document with new generated blocks; raises CompareError for a block without its runs."""
    stores = [Store(folder) for folder in folders]
    cells: list[Cell] = []
    for store in stores:
        cells += read_cells(store.experiment(), store)
    tables, first = load_tables(), _first(cells)

    makers: dict[str, Callable[[], str]] = {f"table {n}": partial(table, n, first, tables) for n in TABLES}
    makers |= {
        "claims": partial(claims_table, cells),
        "causes": partial(causes_table, first),
        "runs": partial(runs_table, stores),
    }
    return fill_blocks(document, lambda comment: makers[comment]() if comment in makers else None)


def _first(cells: Sequence[Cell]) -> list[Cell]:
    """Return the first cell of each scenario and scheme."""
    first: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        first.setdefault((cell.scenario.name, cell.scheme.name), cell)
    return list(first.values())


def table(which: int, cells: Sequence[Cell], tables: Sequence[PublishedRow]) -> str:
    """Return one of the paper's tables as Markdown.

    Each field has the mean measured in packets of up to 64 KB, that in packets of four frames (if measured), and the
    paper's value.
    """
    published = [row for row in tables if row.table == which]
    scenarios = list(dict.fromkeys(row.scenario for row in published))
    rows = _rows(cells, published, scenarios)
    missing = [scenario for scenario in scenarios if scenario not in {row.cell.scenario.name for row in rows}]
    if missing:
        raise CompareError(f"table {which}: no finished run of {', '.join(missing)} in these folders")
    frames = {
        (paper_scenario(row.cell.scenario.name), row.cell.scheme.name, row.group.label): row
        for row in _rows(cells, published, [f"{FRAMES_FOLDER}/{_short(scenario)}" for scenario in scenarios])
    }
    columns = shown_columns(rows)
    heads = ["experiment", "scheme", "flows", *(f"{c.title}{_unit(c.unit)}" for c in columns)]
    lines = []
    for row in rows:
        in_frames = frames.get((row.cell.scenario.name, row.cell.scheme.name, row.group.label))
        fields = [_figures(row, in_frames, column.name) for column in columns]
        lines.append([_short(row.cell.scenario.name), row.cell.scheme.label, row.group.title, *fields])
    return markdown_table(heads, lines, left=3) + "\n"


def _rows(cells: Sequence[Cell], published: Sequence[PublishedRow], scenarios: Sequence[str]) -> list[GroupRow]:
    return [
        row
        for scenario in scenarios
        for row in group_rows([cell for cell in cells if cell.scenario.name == scenario and cell.seeds], published)
    ]


def _figures(row: GroupRow, frames: GroupRow | None, column: str) -> str:
    """Return "measured / in frames / paper's" with a dash for a missing value; only the first if it is alone."""
    estimates = [row.measured.get(column), None if frames is None else frames.measured.get(column)]
    shown = ["–" if estimate is None else number(estimate.mean) for estimate in estimates]
    paper = row.figure(column)
    shown.append("–" if paper is None else number(paper))
    return " / ".join(shown) if shown[1:] != ["–", "–"] else shown[0]


def causes_table(cells: Sequence[Cell]) -> str:
    """Return the results of other packet sizes and buffers as Markdown: each variant below its experiment."""
    variants = sorted(cell.scenario.name for cell in cells if cell.scenario.name.startswith(f"{CAUSES_FOLDER}/"))
    bases = list(dict.fromkeys(_short(name).partition("_")[0] for name in variants))
    order = [
        name
        for base in bases
        for name in (
            f"{SCENARIO_FOLDER}/{base}",
            *(n for n in dict.fromkeys(variants) if _short(n).startswith(f"{base}_")),
            f"{FRAMES_FOLDER}/{base}",
        )
    ]
    names = ("cwnd", "rtt", "rate", "retrans_pct", "mean_latency", "p99_latency", "jain")
    columns = [column for column in COLUMNS if column.name in names]
    heads = ["scenario", "scheme", "flows", *(f"{c.title}{_unit(c.unit)}" for c in columns)]
    lines = []
    for row in _rows(cells, [], order):
        if row.group.label == "client" or row.cell.scheme.name not in ("reno", "nv"):
            continue
        estimates = [row.measured.get(column.name) for column in columns]
        fields = ["–" if estimate is None else number(estimate.mean) for estimate in estimates]
        lines.append([row.cell.scenario.name, row.cell.scheme.label, row.group.title, *fields])
    return markdown_table(heads, lines, left=3) + "\n"


def claims_table(cells: Sequence[Cell]) -> str:
    """Return the paper's claims as Markdown, each with its verdicts and the figures that decide them."""
    here, frames = (judge_claims(Evidence(cells, folder)) for folder in (SCENARIO_FOLDER, FRAMES_FOLDER))
    lines = []
    for claim, in_frames in zip(here, frames, strict=True):
        shown = [f"**{one.verdict.value or 'not decided'}**: {one.measured}" for one in (claim, in_frames)]
        lines.append([claim.section, claim.text, _short(claim.scenario), *shown])
    heads = ["section", "claim", "experiment", "here", "in packets of four frames"]
    return markdown_table(heads, lines) + "\n"


def runs_table(stores: Sequence[Store]) -> str:
    """Return the runs as Markdown: command, number, virtual and wall time of each folder."""
    lines = []
    for store in stores:
        environment, experiment = store.environment(), store.experiment()
        done = [run for run in experiment.runs() if store.is_done(run)]
        virtual_s = sum(run.scenario.duration_s for run in done)
        if not environment:
            raise CompareError(
                f"{store.folder} has no environment.json, because the comparison was interrupted: run it again"
            )
        kernel = ", ".join(environment["kernel"]).split()[0]
        command = f"`{environment['command']}`"
        lines.append([command, f"{len(done)}", f"{virtual_s:.0f} s", f"{environment['wall_s']:.0f} s", kernel])
    return markdown_table(["command", "runs", "virtual time", "wall time", "lab kernel"], lines) + "\n"


def _short(scenario: str) -> str:
    return scenario.rpartition("/")[2]


def _unit(unit: str) -> str:
    return "" if unit in ("count", "1") else f", {unit}"


def main(arguments: Sequence[str]) -> None:
    """The command line: the document, then the folders of comparisons."""
    if len(arguments) < 2:
        sys.exit("usage: python -m studies.nv.document DOCUMENT RESULTS [RESULTS ...]")
    document = Path(arguments[0])
    try:
        text = render_document(document.read_text(), [Path(folder) for folder in arguments[1:]])
    except (CompareError, OSError) as error:
        sys.exit(f"studies.nv.document: {error}")
    document.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
