"""The tables of docs/targets.md, from stored runs::

    python -m compare.targets.document docs/targets.md results/targets

replaces what stands between ``<!-- target NAME -->`` and ``<!-- end -->`` in the document, and the blocks ``runs`` (how
many, and their time) and ``result`` (a line per scheme).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from compare.errors import CompareError
from compare.store import Store
from compare.summary import Cell
from compare.targets.command import stored_targets
from compare.targets.evidence import Evidence
from compare.targets.tables import TargetTable, last_lines, markdown

_BLOCK = re.compile(r"<!-- (target \w+|runs|result) -->\n.*?<!-- end -->", re.DOTALL)


def render_document(document: str, folder: Path) -> str:
    """Return the document with every generated block made anew; raises CompareError for one that cannot be made."""
    tables: dict[str, TargetTable] = {}
    runs = ["| target | runs | failed | virtual s | wall s |", "|---|---:|---:|---:|---:|"]
    for target, store, _, cells in stored_targets(folder):
        tables[target.name] = TargetTable(target, Evidence(cells))
        runs.append(_cost(target.name, store, cells))
    schemes = dict.fromkeys(scheme.name for table in tables.values() for scheme in table.schemes)

    def block(found: re.Match[str]) -> str:
        kind = found[1]
        if kind == "runs":
            made = "\n".join(runs) + "\n"
        elif kind == "result":
            made = "".join(f"    {line}\n" for line in last_lines(list(tables.values()), list(schemes)))
        else:
            name = kind.removeprefix("target ")
            if name not in tables:
                raise CompareError(f"{folder} holds no runs of the target {name}; it has {', '.join(tables) or 'none'}")
            made = markdown(tables[name], level=3)
        return f"<!-- {kind} -->\n{made}<!-- end -->"

    return _BLOCK.sub(block, document)


def _cost(name: str, store: Store, cells: Sequence[Cell]) -> str:
    made, failed = sum(len(cell.seeds) for cell in cells), sum(len(cell.failed) for cell in cells)
    virtual_s = sum(len(cell.seeds) * cell.scenario.duration_s for cell in cells)
    wall_s = store.environment().get("wall_s")
    return f"| {name} | {made} | {failed} | {virtual_s:,.0f} | {'–' if wall_s is None else f'{wall_s:,.0f}'} |"


def main(arguments: Sequence[str]) -> None:
    """The command line: the document, then the folder of the targets' runs."""
    if len(arguments) != 2:
        sys.exit("usage: python -m compare.targets.document DOCUMENT RESULTS")
    document = Path(arguments[0])
    try:
        text = render_document(document.read_text(), Path(arguments[1]))
    except (CompareError, OSError) as error:
        sys.exit(f"compare.targets.document: {error}")
    document.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
