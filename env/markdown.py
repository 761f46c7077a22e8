"""Tables and foreign text for Markdown pages, cards and docstrings.

Own code: tabulate and pandas would be a dependency for three lines.
"""

from __future__ import annotations

from collections.abc import Sequence

ESCAPED = str.maketrans({"\\": "\\\\", "|": "\\|", "[": "\\[", "`": "'", "&": "&amp;", "<": "&lt;"})


def plain(text: str) -> str:
    """Return foreign text on one line, so that Markdown shows it as it is: no tag, link, picture or table border."""
    return " ".join(text.split()).translate(ESCAPED)


def code(text: str) -> str:
    """Return foreign text on one line, as a block of code."""
    return f"    {' '.join(text.split())}"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int | None = None) -> str:
    """Return a Markdown table. left: the number of columns aligned to the left; the others go to the right."""
    rule = ["---" if left is None or index < left else "---:" for index in range(len(heads))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
