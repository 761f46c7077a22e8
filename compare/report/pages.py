"""Markdown pages: tables, and the blocks of a page that a command writes.

A block is what stands between a comment that says what it is and the line ``<!-- end -->``::

    <!-- tables of results/mixed -->
    ...
    <!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_BLOCK = re.compile(r"<!-- (?P<what>[^\n]+?) -->\n(?P<content>(?:(?!<!--).)*)<!-- end -->", re.DOTALL)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int | None = None) -> list[str]:
    """Return the lines of a table. left: so many columns are aligned to the left and the others to the right."""
    rule = ["---" if left is None or index < left else "---:" for index in range(len(heads))]
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]


def fill_blocks(page: str, make: Callable[[str], str | None]) -> str:
    """Return the page with new contents of its blocks.

    make: returns the content, which ends with a line's end, of the block that a comment names; None leaves it as it is.
    """

    def block(match: re.Match[str]) -> str:
        content = make(match["what"])
        return match[0] if content is None else f"<!-- {match['what']} -->\n{content}<!-- end -->"

    return _BLOCK.sub(block, page)
