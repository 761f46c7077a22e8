"""The tables of docs/tcp-nv.md, from stored comparisons::

    python -m compare.tcp_nv docs/tcp-nv.md results/nv [results/nv-long ...]

replaces what stands between ``<!-- table 1 -->`` and ``<!-- end -->`` (tables 1 to 7, and ``claims``, ``runs``) in the
document. Of a scenario that several folders hold, the first folder's runs are taken.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from compare.errors import CompareError
from compare.group_table import GroupRow, group_rows, shown_columns
from compare.nv_claims import judge_claims
from compare.published_tables import PublishedRow, load_tables
from compare.store import Store
from compare.summary import Cell, read_cells
from compare.terminal import number

_BLOCK = re.compile(r"<!-- (table \d|claims|runs) -->\n.*?<!-- end -->", re.DOTALL)


def render_document(document: str, folders: Sequence[Path]) -> str:
    """Return the document with every generated block made anew; raises CompareError for a block that cannot be made."""
    stores = [Store(folder) for folder in folders]
    cells: list[Cell] = []
    for store in stores:
        there = {cell.scenario.name for cell in cells}
        cells += [cell for cell in read_cells(store.experiment(), store) if cell.scenario.name not in there]
    tables = load_tables()

    def block(found: re.Match[str]) -> str:
        kind = found[1]
        if kind == "claims":
            made = claims_table(cells)
        elif kind == "runs":
            made = runs_table(stores)
        else:
            made = table(int(kind.removeprefix("table ")), cells, tables)
        return f"<!-- {kind} -->\n{made}<!-- end -->"

    return _BLOCK.sub(block, document)


def table(which: int, cells: Sequence[Cell], tables: Sequence[PublishedRow]) -> str:
    """Return one of the paper's tables as Markdown: in each field our mean, and the paper's figure after a slash."""
    published = [row for row in tables if row.table == which]
    scenarios = list(dict.fromkeys(row.scenario for row in published))
    rows: list[GroupRow] = []
    for scenario in scenarios:
        rows += group_rows([cell for cell in cells if cell.scenario.name == scenario and cell.seeds], published)
    missing = [scenario for scenario in scenarios if scenario not in {row.cell.scenario.name for row in rows}]
    if missing:
        raise CompareError(f"table {which}: no finished run of {', '.join(missing)} in these folders")
    columns = shown_columns(rows)
    heads = ["experiment", "scheme", "flows", *(f"{c.title}{_unit(c.unit)}" for c in columns)]
    lines = [_line(heads), _line(["---"] * 3 + ["---:"] * len(columns))]
    for row in rows:
        fields = []
        for metric in columns:
            ours, paper = row.measured.get(metric.name), row.figure(metric.name)
            text = "" if ours is None else number(ours.mean)
            fields.append(text if paper is None else f"{text} / {number(paper)}")
        name = row.cell.scenario.name.rpartition("/")[2]
        lines.append(_line([name, row.cell.scheme.label, row.group.title, *fields]))
    return "\n".join(lines) + "\n"


def claims_table(cells: Sequence[Cell]) -> str:
    """Return the paper's claims as Markdown, with our figures and whether each holds here."""
    lines = [_line(["section", "claim", "holds here", "figures"]), _line(["---"] * 4)]
    for claim in judge_claims(cells):
        lines.append(_line([claim.section, claim.text, claim.verdict or "not decided", claim.measured]))
    return "\n".join(lines) + "\n"


def runs_table(stores: Sequence[Store]) -> str:
    """Return what was run as Markdown: the command of each folder, virtual and wall time."""
    lines = [_line(["command", "runs", "virtual time", "wall time", "lab kernel"]), _line(["---"] * 5)]
    for store in stores:
        found, experiment = store.environment(), store.experiment()
        runs = experiment.runs()
        virtual_s = sum(run.scenario.duration_s for run in runs if store.is_done(run))
        if not found:
            raise CompareError(f"{store.folder} has no environment.json yet: the comparison was interrupted")
        done = sum(store.is_done(run) for run in runs)
        kernel = ", ".join(found["kernel"]).split()[0]
        command = f"`{found['command']}`"
        lines.append(_line([command, f"{done}", f"{virtual_s:.0f} s", f"{found['wall_s']:.0f} s", kernel]))
    return "\n".join(lines) + "\n"


def _unit(unit: str) -> str:
    return "" if unit in ("count", "1") else f", {unit}"


def _line(fields: Sequence[str]) -> str:
    return f"| {' | '.join(fields)} |"


def main(arguments: Sequence[str]) -> None:
    """The command line: the document, then the folders of comparisons."""
    if len(arguments) < 2:
        sys.exit("usage: python -m compare.tcp_nv DOCUMENT RESULTS [RESULTS ...]")
    document = Path(arguments[0])
    try:
        text = render_document(document.read_text(), [Path(folder) for folder in arguments[1:]])
    except (CompareError, OSError) as error:
        sys.exit(f"compare.tcp_nv: {error}")
    document.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
