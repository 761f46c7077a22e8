"""Numbers by name, from the pages of docs/results and from the code. docs/paper/numbers.yaml has the names.

The pages are where a measurement is stored once its run folder is gone; commands of docs/results rewrite them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from env.near import suggest

_MARKS = str.maketrans("", "", "*`")
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


class PaperError(ValueError):
    """A name, table, row or column that is missing or ambiguous, or text that has no source."""


@dataclass(frozen=True)
class Source:
    """A number that the paper uses: the name by which it was asked for, its text, and where that stands."""

    name: str
    text: str
    where: str


@dataclass(frozen=True)
class Table:
    """A Markdown table of a page: heads of the columns, and the rows below them, without emphasis and code marks."""

    where: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def cell(self, row: str, column: str) -> str:
        """Return a cell. row: the first cell, or the first two with a slash between them where that is ambiguous.

        Raises PaperError for a row or column that is missing or ambiguous.
        """
        if column not in self.heads:
            raise PaperError(f"{self.where} has no column {column!r}{suggest(column, self.heads)}")
        found = [cells for cells in self.rows if cells[0] == row or " / ".join(cells[:2]) == row]
        if not found:
            raise PaperError(f"{self.where} has no row {row!r}{suggest(row, [cells[0] for cells in self.rows])}")
        if len(found) > 1:
            raise PaperError(f"{self.where} has {len(found)} rows {row!r}: name the second cell, too")
        return found[0][list(self.heads).index(column)]


@dataclass
class Numbers:
    """The numbers of a paper. names: content of numbers.yaml. used: each number that was asked for, in order."""

    root: Path
    names: Mapping[str, Any]
    used: list[Source] = field(default_factory=list)

    def cell(self, table: str, row: str, column: str, part: str = "mean") -> str:
        """Return a cell of a table of numbers.yaml. part: see part_of()."""
        text = part_of(self.table(table).cell(row, column), part)
        return self._use(f"{table} / {row} / {column}", text, self.table(table).where)

    def rows(self, table: str) -> list[dict[str, str]]:
        """Return all rows of a table of numbers.yaml, each cell by the head of its column."""
        found = self.table(table)
        rows = [dict(zip(found.heads, cells, strict=True)) for cells in found.rows]
        for row in rows:
            self._use(f"{table} / {' / '.join(list(row.values())[:2])}", " | ".join(row.values()), found.where)
        return rows

    def number(self, name: str) -> str:
        """Return a number of `texts` or `code` of numbers.yaml."""
        texts, code = self.names["texts"], self.names["code"]
        if name in texts:
            page, pattern = texts[name]["page"], texts[name]["pattern"]
            return self._use(name, find_text(self._page(page), pattern, f"{page}, {name}"), page)
        if name in code:
            return self._use(name, value_of(code[name]), code[name])
        raise PaperError(f"the number {name!r} is unknown{suggest(name, [*texts, *code])}")

    def table(self, name: str) -> Table:
        """Return a table of numbers.yaml."""
        tables = self.names["tables"]
        if name not in tables:
            raise PaperError(f"the table {name!r} is unknown{suggest(name, list(tables))}")
        entry = tables[name]
        return find_table(self._page(entry["page"]), entry["after"], f"{entry['page']}, table {name}")

    def _page(self, page: str) -> str:
        return (self.root / page).read_text()

    def _use(self, name: str, text: str, where: str) -> str:
        self.used.append(Source(name, text, where))
        return text


def load(root: Path, file: Path) -> Numbers:
    """Read numbers.yaml. root: the folder of its pages."""
    return Numbers(root, yaml.safe_load(file.read_text()))


def _plain(text: str) -> str:
    """Return Markdown without emphasis, code marks and links' targets, with single blanks."""
    return " ".join(_LINK.sub(r"\1", text).translate(_MARKS).split())


def find_table(page: str, after: Sequence[str], where: str) -> Table:
    """Return the first table at or below the lines that begin with the texts of `after`, in their order.

    Raises PaperError without such a line or table, and if several lines begin with the first text.
    """
    lines = page.split("\n")
    begins = [number for number, line in enumerate(lines) if line.startswith(after[0])]
    if len(begins) != 1:
        raise PaperError(f"{where}: {len(begins)} lines begin with {after[0]!r}, one must")
    begin = begins[0]
    for text in after[1:]:
        begin = next((number for number in range(begin, len(lines)) if lines[number].startswith(text)), -1)
        if begin < 0:
            raise PaperError(f"{where}: no line below begins with {text!r}")
    rows: list[list[str]] = []
    for line in lines[begin:]:
        if line.startswith("|"):
            rows.append([_plain(cell) for cell in line.strip().strip("|").split("|")])
        elif rows:
            break
    if len(rows) < 3:
        raise PaperError(f"{where}: no table follows {after[-1]!r}")
    return Table(where, rows[0], rows[2:])


def part_of(cell: str, part: str) -> str:
    """Return a part of a cell such as `53.9 (52.3 to 55.4)`: its mean, its interval, both, or the first number.

    The whole is the cell with what follows, such as a unit. Raises PaperError when the cell lacks the part.
    """
    match = re.fullmatch(r"(?P<mean>[^()]*?)(?: \((?P<interval>[^()]*)\))?", cell)
    if part == "whole":
        return cell
    if part == "number":
        first = re.search(r"-?\d[\d,.]*(?<![,.])", cell)
        if first is None:
            raise PaperError(f"the cell {cell!r} has no number")
        return first[0]
    if part == "both":
        both = re.match(r"-?[\d.,]+ \([^()]*\)", cell)
        if both is None:
            raise PaperError(f"the cell {cell!r} has no mean with an interval")
        return both[0]
    if part not in ("mean", "interval"):
        raise PaperError(f"the part {part!r} of a cell is unknown; there are mean, interval, both, whole, number")
    if match is None or match[part] is None:
        raise PaperError(f"the cell {cell!r} has no {part}")
    return match[part]


def find_text(page: str, pattern: str, where: str) -> str:
    """Return the group of a regular expression that one place of a page fits; any white space counts as one blank.

    Raises PaperError for none and for several places.
    """
    found = re.findall(pattern, _plain(page))
    if len(found) != 1 or not isinstance(found[0], str):
        raise PaperError(f"{where}: {len(found)} places fit {pattern!r}, one must, and it needs one group")
    return found[0]


def value_of(path: str) -> str:
    """Return the value of a name of the code, `module:name`; the length of `module:len(name)`."""
    module, _, name = path.partition(":")
    length = re.fullmatch(r"len\((.*)\)", name)
    try:
        value = reduce(getattr, (length[1] if length else name).split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise PaperError(f"the code has no {path}: {error}") from error
    return str(len(value) if length else value)
