"""Options of the command lines, each declared together with its help and its limits.

Hydra's own help prints the configuration, but not what a key means.
"""

from __future__ import annotations

import copy
import operator
import re
import shlex
from collections.abc import Sequence
from dataclasses import MISSING, field, fields
from typing import Any, TypeVar

from hydra.core.override_parser.types import Quote, QuotedString

from env.checkout import CONFIGS
from env.errors import UserError

COLUMN = 38
IS_WITHIN = {"above": operator.gt, "at least": operator.ge, "at most": operator.le}

T = TypeVar("T")


def option(default: T, help: str, *, gt: float | None = None, ge: float | None = None, le: float | None = None) -> T:
    """Return a dataclass field with this default, the help that ``--help`` prints, and limits for check_limits().

    A list or dict is copied. gt, ge, le: the value must be greater than, greater than or equal to, less than or equal
    to this.
    """
    limits = {"above": gt, "at least": ge, "at most": le}
    metadata = {"help": help, "limits": {text: limit for text, limit in limits.items() if limit is not None}}
    if isinstance(default, list | dict):
        return field(default_factory=lambda: copy.copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def check_dashes(arguments: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError for --KEY, as other commands have it, with the form that is meant. known: the keys."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        key, _, value = word.lstrip("-").partition("=")
        if word.startswith("-") and key.partition(".")[0] in known:
            value = value or ("VALUE" if following.startswith("-") else following or "VALUE")
            raise UserError(f"{word!r} is no option: options have no dashes, so write {key}={value}")


def argument(key: str, value: object) -> str:
    """Return KEY=VALUE as it is typed: in the quotes that Hydra and the shell need."""
    text = str(value)
    if not re.fullmatch(r"[\w./@%+-]+", text, re.ASCII):
        text = QuotedString(text, Quote.double).with_quotes()
    return shlex.quote(f"{key}={text}")


def check_limits(options: Any, prefix: str = "") -> None:
    """Raise ValueError when an option of a dataclass is outside its limits. prefix: of the option's name."""
    for entry in fields(options):
        value, limits = getattr(options, entry.name), entry.metadata.get("limits", {})
        if value is not None and not all(IS_WITHIN[text](value, limit) for text, limit in limits.items()):
            valid = " and ".join(f"{text} {limit:g}" for text, limit in limits.items())
            raise UserError(f"{prefix}{entry.name} is {value}; it must be {valid}")


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


def group_meanings(group: str) -> dict[str, str]:
    """Return `group=NAME` with its meaning for each file of a group: the first sentence of its comment."""
    meanings = {}
    for file in sorted((CONFIGS / group).glob("*.yaml")):
        comments = [line[2:] for line in file.read_text().splitlines() if line.startswith("# ")]
        text = " ".join(line for line in comments if not line.startswith(("python ", "@package")))
        meanings[f"{group}={file.stem}"] = text.partition(". ")[0].removesuffix(".")
    return meanings


def group_lines(group: str) -> list[str]:
    """Return a line `group=NAME  meaning` for each file of a group."""
    return [f"  {name:{COLUMN}}{meaning}" for name, meaning in group_meanings(group).items()]
