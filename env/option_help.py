"""``--help`` of train.py and compare.py: options declared together with their help, and rendered from that.

Hydra's own help prints the configuration, but not what a key means.
"""

from __future__ import annotations

import copy
from dataclasses import MISSING, field, fields
from typing import Any, TypeVar

from env.checkout import CONFIGS

COLUMN = 38

T = TypeVar("T")


def option(default: T, help: str) -> T:
    """Return a dataclass field with this default and the help that ``--help`` prints. A list is copied."""
    metadata = {"help": help}
    if isinstance(default, list):
        return field(default_factory=lambda: copy.copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def option_lines(options: type[Any], prefix: str = "") -> list[str]:
    """Return a line `prefix.name=default  help` for each field of a dataclass that `option` declares."""
    lines = []
    for entry in fields(options):
        if "help" not in entry.metadata:
            continue
        default = entry.default_factory() if entry.default_factory is not MISSING else entry.default
        value = "" if default is None else f"{default}"
        lines.append(f"  {f'{prefix}{entry.name}={value}':{COLUMN}}{entry.metadata['help']}")
    return lines


def group_lines(group: str) -> list[str]:
    """Return a line `group=NAME  meaning` for each file of a group: its second comment line."""
    lines = []
    for file in sorted((CONFIGS / group).glob("*.yaml")):
        comments = [line[2:] for line in file.read_text().splitlines() if line.startswith("# ")]
        meaning = next(line for line in comments if not line.startswith(("python ", "@package")))
        lines.append(f"  {f'{group}={file.stem}':{COLUMN}}{meaning}")
    return lines
