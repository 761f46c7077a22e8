"""What a report is given: sections of tables, and published values that stand beside the measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from env.markdown import markdown_table, plain
from env.network.schemes import Scheme


@dataclass(frozen=True)
class Entry:
    """An entry of a table. kind: its CSS class. bold: in Markdown. scheme: whose marker stands before the text."""

    text: str
    kind: str = ""
    bold: bool = False
    scheme: Scheme | None = None


@dataclass(frozen=True)
class Table:
    """A table. name: for screen readers. left: number of columns aligned to the left; None: all of them."""

    name: str
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    left: int | None = None


@dataclass(frozen=True)
class Section:
    """A section of a report. note: a sentence below the title in HTML.

    scenario: on whose page it is, in HTML only; empty: on the overview. first: before the main results of the overview,
    else behind them.
    """

    title: str
    tables: Sequence[Table]
    note: str = ""
    scenario: str = ""
    first: bool = False

    def markdown(self) -> str:
        """Return the section as Markdown, with the captions of all tables but the first."""
        lines = [f"## {plain(self.title)}", ""]
        for index, table in enumerate(self.tables):
            lines += ["", f"{plain(table.caption)}:", ""] if index else []
            texts = [[(plain(entry.text), entry.bold) for entry in row] for row in table.rows]
            rows = [[f"**{text}**" if bold else text for text, bold in row] for row in texts]
            lines.append(markdown_table([*map(plain, table.heads)], rows, table.left))
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Published:
    """Values that others published for a scheme in a scenario, by metric.

    group: label of the flows (compare/metrics/group_metrics.py), empty for all of them. name: of the row in the table
    of several flows. source: for that table's caption.
    """

    scenario: str
    scheme: str
    values: Mapping[str, float]
    group: str = ""
    name: str = ""
    source: str = ""
