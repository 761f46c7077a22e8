"""The names of congestion controls that a user brings: NAME@PATH+PARAMETER:VALUE+PARAMETER:VALUE.

    mine@tcp_mine.c                   a source file
    mine@mine/folder                  a folder with a Kbuild or Makefile
    mine@tcp_mine.ko                  a module that is built already
    mine@mine.bpf.o                   a BPF object with struct_ops, for lab=vm
    mine@tcp_mine.c+beta:717+fast:1   with parameters of the module

The grammars of Hydra and YAML take all of these unquoted, which they do not for "=", "?" or a space. env/own_module
builds the module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from env.errors import UserError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,30}")
PARAMETER_BEGINS = re.compile(r"\+(?=[A-Za-z0-9_-]*:)")
PARAMETER = re.compile(r"[A-Za-z0-9_-]+:\S+")
SOURCES = (".c", ".ko", ".o")  # of files
FORM = "NAME@PATH/tcp_NAME.c"  # in lists of what a scheme may be


@dataclass(frozen=True)
class OwnScheme:
    """The parts of such a name. parameters: as insmod takes them, such as "beta=717 fast=1"."""

    name: str
    path: str
    parameters: str

    @property
    def label(self) -> str:
        """Return the name in reports: parameters tell two settings of one module apart."""
        return f"{self.name} {self.parameters}".strip()


def require_trust(schemes: Iterable[str], command: Sequence[str], trust: bool) -> None:
    """Raise UserError for a congestion control that a file names, not the command: building it runs its code.

    schemes: names of congestion controls that a user brings. command: words in which its user names some.
    """
    for scheme in schemes:
        whole = re.compile(rf"""(^|[=,\[\s'"]){re.escape(scheme)}([],\s'"]|$)""")
        if not trust and not any(map(whole.search, command)):
            raise UserError(
                f"a file names the congestion control {scheme}, whose code may do whatever you may: if you trust it, "
                "add trust=true"
            )


def parse_own_scheme(text: str) -> OwnScheme:
    """Return the parts of a scheme's name. Raises UserError, which names the bad part."""
    name, _, rest = text.partition("@")
    if not NAME.fullmatch(name):
        raise UserError(f"the name {name!r} must be a letter and at most 30 more letters, digits and _ . -")
    path, *parameters = PARAMETER_BEGINS.split(rest)
    if not path:
        raise UserError("it has no path")
    for parameter in parameters:
        if not PARAMETER.fullmatch(parameter):
            raise UserError(f"the parameter {parameter!r} must be NAME:VALUE, as in {name}@{path}+beta:717")
    return OwnScheme(name, path, " ".join(parameter.replace(":", "=", 1) for parameter in parameters))
