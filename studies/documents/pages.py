"""The blocks of a Markdown page that a command writes.

A block is the text between a comment that names its content and the line ``<!-- end -->``::

    <!-- tables of results/mixed -->
    ...
    <!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Callable

_BLOCK = re.compile(r"<!-- (?P<what>[^\n]+?) -->\n(?P<content>(?:(?!<!--).)*)<!-- end -->", re.DOTALL)


def fill_blocks(page: str, make: Callable[[str], str | None]) -> str:
    """Return the page with new contents of its blocks.

    make: returns a block's content from the comment's text, with a newline at its end; None leaves the block unchanged.
    """

    def block(match: re.Match[str]) -> str:
        content = make(match["what"])
        return match[0] if content is None else f"<!-- {match['what']} -->\n{content}<!-- end -->"

    return _BLOCK.sub(block, page)
