# SPDX-License-Identifier: GPL-2.0
"""The layout of NDM's state of a connection, field by field."""

from __future__ import annotations

import re
from typing import NamedTuple

from env.errors import UserError
from studies.kernel_cost.build import Kernel, run

STATE = "ndm_sock"
# the kernel's struct and field that hold the state
HOME, ROOM = "inet_connection_sock", "icsk_ca_priv"

_SIZE = re.compile(r"/\* size: (\d+),")
# "/* typedef u32 -> __u32 */ unsigned int  flow:24;  /*  68: 0  4 */"; a struct within ends with "}name;"
_FIELD = re.compile(
    r"^\s*(?:/\* typedef (\w+) .*?\*/ )?(\w[\w ]*?)\s+\*?\s*(\w+)(\[\d+\])?(?::(\d+))?;"
    r"\s*/\*\s*(\d+)(?::\s*\d+)?\s+(\d+) \*/$"
)


class Field(NamedTuple):
    """One field. offset: bytes. bits: width; a bit field shares its bytes with others."""

    type: str
    name: str
    offset: int
    bits: int


class State(NamedTuple):
    """The layout of the state. size: bytes. room: bytes that the kernel reserves."""

    fields: list[Field]
    size: int
    room: int


def state(kernel: Kernel) -> State:
    """Return a built kernel's layout, read from the module's debug information. Raises UserError."""
    module = str(kernel.folder / "tcp_ndm.o")
    text = run(["pahole", "-E", "-C", STATE, module])
    size = _SIZE.findall(text)
    fields = []
    for line in text.splitlines():
        if match := _FIELD.match(line):
            typedef, plain, name, array, bits, offset, nbytes = match.groups()
            width = int(bits) if bits else 8 * int(nbytes)
            fields.append(Field((typedef or plain) + (array or ""), name, int(offset), width))
    room = re.search(rf"\b{ROOM}\[\d+\];\s*/\*\s*\d+\s+(\d+) \*/", run(["pahole", "-C", HOME, module]))
    if not fields or not size or room is None:
        raise UserError(f"pahole shows no struct {STATE} and {HOME}.{ROOM} in {module}:\n{text}")
    return State(fields, int(size[-1]), int(room[1]))
