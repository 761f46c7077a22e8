"""``--help`` of train.py and compare.py: every option with its meaning, read where it is declared.

Hydra's own help prints the configuration; what a key means stands beside its declaration, in a comment.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any

from env.checkout import CONFIGS

COLUMN = 34


def option_lines(options: type[Any], prefix: str = "") -> list[str]:
    """Return a line `prefix.name=default  meaning` for each field of a dataclass.

    The meaning is the comment behind the field, or else the comment lines above it. Fields without one, which hold
    other groups, are left out.
    """
    defaults = {
        field.name: None if field.default is MISSING else field.default
        for field in fields(options)
        if field.default_factory is MISSING
    } | {field.name: "[]" for field in fields(options) if field.default_factory is list}
    lines, above = [], list[str]()
    for line in inspect.getsource(options).splitlines():
        comment = re.fullmatch(r"    # (.*)", line)
        declared = re.fullmatch(r"    (\w+): [^#]*?(?:  # (.*))?", line)
        if comment:
            above.append(comment[1])
            continue
        if declared and declared[1] in defaults:
            meaning = declared[2] or " ".join(above)
            default = defaults[declared[1]]
            value = "" if default is None else f"{default}"
            if meaning:
                lines.append(f"  {f'{prefix}{declared[1]}={value}':{COLUMN}}{meaning}")
        above = []
    return lines


def group_lines(group: str) -> list[str]:
    """Return a line `group=NAME  meaning` for each file of a group: its second comment line."""
    lines = []
    for file in sorted((CONFIGS / group).glob("*.yaml")):
        comments = [line[2:] for line in file.read_text().splitlines() if line.startswith("# ")]
        meaning = next(line for line in comments if not line.startswith(("python ", "@package")))
        lines.append(f"  {f'{group}={file.stem}':{COLUMN}}{meaning}")
    return lines
