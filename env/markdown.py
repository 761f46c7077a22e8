"""Tables for Markdown pages, cards and docstrings.

Own code: tabulate and pandas would be a dependency for three lines.
"""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int | None = None) -> str:
    """Return a Markdown table. left: the number of columns aligned to the left; the others go to the right."""
    rule = ["---" if left is None or index < left else "---:" for index in range(len(heads))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
