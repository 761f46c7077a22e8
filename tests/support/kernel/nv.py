"""TCP-NV compiled for user space, and the table of its parameters."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import NamedTuple

from tests.support.tools import compile_kernel


class Parameter(ctypes.Structure):
    """struct nv_user_parameter of library/nv.c."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("value", ctypes.c_uint32),
        ("least", ctypes.c_uint32),
        ("most", ctypes.c_uint32),
    )


class Range(NamedTuple):
    default: int
    least: int
    most: int


def build(folder: Path) -> ctypes.CDLL:
    """Compile library/nv.c with the undefined-behaviour sanitizer, and load it."""
    lib = ctypes.CDLL(str(compile_kernel("nv.c", folder)))
    lib.nv_user_parameter.restype = ctypes.POINTER(Parameter)
    for name in ("average_rtt", "max_win", "decreased_cwnd", "congestion_ssthresh", "loss_ssthresh", "growth_acks"):
        getattr(lib, f"nv_user_{name}").restype = ctypes.c_uint32
    return lib


def parameters(lib: ctypes.CDLL) -> dict[str, Range]:
    """Return every parameter in the order of the C structure."""
    ranges: dict[str, Range] = {}
    while entry := lib.nv_user_parameter(len(ranges)):
        parameter = entry.contents
        ranges[parameter.name.decode()] = Range(parameter.value, parameter.least, parameter.most)
    return ranges
