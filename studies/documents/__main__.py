"""Tables and pictures of stored comparisons in a document::

    python -m studies.documents docs/results/results.md docs/results/targets.md

writes the blocks of these pages again (pages.py). The comment of a block names a content and a folder::

    <!-- tables of results/mixed -->           the first tables of the report, the winning rates, and failed runs
    <!-- picture of results/mixed -->          throughput against delay, a panel per scenario: a PNG beside the document
    <!-- target loss of results/targets -->    the tables of a target
    <!-- runs of results/targets -->           number and duration of the runs of each target
    <!-- result of results/targets -->         a line per scheme with the requirements that it meets
    <!-- figures of results/bbr3 -->           the figure of each requirement and scenario, a column per scheme
    <!-- scores of results/development -->     the joint scores of targets that have them
    <!-- goodput of results/targets -->        a row per scenario, a column per scheme or population of trained models
    <!-- file of runs/NAME/ablation.md -->     the text of a file that another command wrote

If a block cannot be written, no document changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path

from compare.errors import CompareError
from compare.experiment.store import Store
from compare.metrics.cells import Cell, by_scenario, read_cells, schemes_of
from compare.report import Comparison, render_tables
from compare.report.tables.target import score_markdown, target_markdown
from compare.statistics.paired import compare_pairs
from compare.targets.evidence import Evidence
from compare.targets.last_lines import last_lines
from compare.targets.stored import stored_targets
from compare.targets.tables import TargetTable
from compare.targets.target import Target
from env.markdown import markdown_table
from studies.documents.figures import figures_table
from studies.documents.goodput import goodput_table
from studies.documents.overview import draw_overview
from studies.documents.pages import fill_blocks


class _Results:
    """The stored runs of one folder, read once, and the blocks that show them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _store(self) -> Store:
        return Store(self.folder)

    @cached_property
    def _cells(self) -> list[Cell]:
        cells = read_cells(self._store.experiment(), self._store)
        if not any(cell.seeds for cell in cells):
            raise CompareError(f"{self.folder} holds no finished run")
        return cells

    @cached_property
    def _measured(self) -> list[tuple[Target, Store, list[Cell]]]:
        """Each target with its runs."""
        measured = [(target, store, cells) for target, store, _, cells in stored_targets(self.folder)]
        if not measured:
            raise CompareError(f"{self.folder} holds no runs of a target")
        return measured

    @cached_property
    def _targets(self) -> dict[str, TargetTable]:
        """Each target, judged."""
        return {target.name: TargetTable(target, Evidence(cells)) for target, _, cells in self._measured}

    def tables(self) -> str:
        experiment, environment = self._store.experiment(), self._store.environment()
        pairs = compare_pairs(self._cells)
        return render_tables(Comparison(experiment, self._cells, pairs, [], [], environment, self._store.run_name))

    def picture(self, document: Path) -> str:
        output = document.with_name(f"{document.stem}-{self.folder.name}.png")
        if not draw_overview(self._cells, output):
            raise CompareError(f"no scenario of {self.folder} has throughput and delay to draw")
        alternative = (
            f"{', '.join(scheme.label for scheme in schemes_of(self._cells))} in {', '.join(by_scenario(self._cells))}"
        )
        return f"![Throughput against delay, up and to the right is better: {alternative}]({output.name})\n"

    def target(self, name: str) -> str:
        if name not in self._targets:
            raise CompareError(f"{self.folder} holds no runs of the target {name}; it has {', '.join(self._targets)}")
        return target_markdown(self._targets[name], level=3)

    def runs(self) -> str:
        heads = ["target", "runs", "failed", "virtual s", "wall s"]
        rows = [_cost(target.name, store, cells) for target, store, cells in self._measured]
        return markdown_table(heads, rows, left=1) + "\n"

    def result(self) -> str:
        tables = list(self._targets.values())
        schemes = dict.fromkeys(scheme.name for table in tables for scheme in table.schemes)
        return "".join(f"    {line}\n" for line in last_lines(tables, list(schemes)))

    def figures(self) -> str:
        return figures_table(list(self._targets.values()))

    def scores(self) -> str:
        scored = [table for table in self._targets.values() if table.target.scored]
        if not scored:
            raise CompareError(f"{self.folder} holds no runs of a target with a joint score")
        return "\n".join(map(score_markdown, scored))

    def goodput(self) -> str:
        return goodput_table([cell for _, _, cells in self._measured for cell in cells])


# by the text before " of FOLDER" in a block's comment: one word, or a word and an argument
_Maker = Callable[[_Results, str, Path], str]  # takes results, argument and document
_MAKERS: dict[str, _Maker] = {
    "tables": lambda results, _argument, _document: results.tables(),
    "picture": lambda results, _argument, document: results.picture(document),
    "target NAME": lambda results, name, _document: results.target(name),
    "runs": lambda results, _argument, _document: results.runs(),
    "result": lambda results, _argument, _document: results.result(),
    "figures": lambda results, _argument, _document: results.figures(),
    "scores": lambda results, _argument, _document: results.scores(),
    "goodput": lambda results, _argument, _document: results.goodput(),
    "file": lambda results, _argument, _document: results.folder.read_text(),
}


def render_documents(documents: Sequence[Path]) -> list[str]:
    """Return the texts of documents with new blocks, and draw their pictures; raises CompareError for missing runs."""
    stored: dict[str, _Results] = {}

    def make(comment: str, document: Path) -> str | None:
        what, separator, folder = comment.rpartition(" of ")
        if not separator:
            return None  # the block of another command
        kind, _, argument = what.partition(" ")
        maker = _MAKERS.get(f"{kind} NAME" if argument else kind)
        if maker is None:
            raise CompareError(f"{document}: block {what!r} is unknown; the blocks are {', '.join(_MAKERS)}")
        return maker(stored.setdefault(folder, _Results(Path(folder))), argument, document)

    return [fill_blocks(document.read_text(), partial(make, document=document)) for document in documents]


def _cost(name: str, store: Store, cells: Sequence[Cell]) -> list[str]:
    done, failed = sum(len(cell.seeds) for cell in cells), sum(len(cell.failed) for cell in cells)
    virtual_s = sum(len(cell.seeds) * cell.scenario.duration_s for cell in cells)
    wall_s = store.environment().get("wall_s")
    return [name, str(done), str(failed), f"{virtual_s:,.0f}", "–" if wall_s is None else f"{wall_s:,.0f}"]


def main(arguments: Sequence[str]) -> None:
    """The command line. arguments: the documents."""
    if not arguments:
        sys.exit("usage: python -m studies.documents DOCUMENT...")
    documents = [Path(argument) for argument in arguments]
    try:
        texts = render_documents(documents)
    except (CompareError, OSError) as error:
        sys.exit(f"studies.documents: {error}")
    for document, text in zip(documents, texts, strict=True):
        document.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
