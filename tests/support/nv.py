"""TCP-NV compiled for user space, and the table of its parameters."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import NamedTuple

from env.checkout import ROOT

KERNEL = ROOT / "kernel"


class Parameter(ctypes.Structure):
    """struct nv_user_parameter of kernel/user/nv.c."""

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
    library = folder / "libnv.so"
    subprocess.run(
        [
            *("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror", "-shared", "-fPIC"),
            *("-fsanitize=undefined", "-fno-sanitize-recover=undefined"),
            *(
                "-I",
                str(KERNEL / "user" / "include"),
                "-I",
                str(KERNEL),
                "-o",
                str(library),
                str(KERNEL / "user" / "nv.c"),
            ),
        ],
        check=True,
    )
    lib = ctypes.CDLL(str(library))
    lib.nv_user_parameter.restype = ctypes.POINTER(Parameter)
    for name in ("average_rtt", "max_win", "decreased_cwnd", "congestion_ssthresh", "loss_ssthresh", "growth_acks"):
        getattr(lib, f"nv_user_{name}").restype = ctypes.c_uint32
    return lib


def parameters(lib: ctypes.CDLL) -> dict[str, Range]:
    """Every parameter in the order of the C structure."""
    found: dict[str, Range] = {}
    while entry := lib.nv_user_parameter(len(found)):
        parameter = entry.contents
        found[parameter.name.decode()] = Range(parameter.value, parameter.least, parameter.most)
    return found
