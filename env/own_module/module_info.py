"""What a module's file says about its parameters."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from env.errors import UserError, suggest

MODINFO = ("env", "PATH=/usr/sbin:/sbin:/usr/bin:/bin", "modinfo")


def check_parameters(module: Path, parameters: str) -> None:
    """Raise UserError for a parameter that the module does not have, or that is given twice.

    parameters: as in OwnScheme.
    """
    known = list(_types(module))
    names = [parameter.split("=", 1)[0] for parameter in parameters.split()]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"parameter {name!r} of {module.stem} is given twice")
        if name not in known:
            has = f"The parameters are {', '.join(known)}." if known else "It has none."
            raise UserError(f"{module.stem} has no parameter {name!r}{suggest(name, known)}{has}")


def described_parameters(module: Path) -> str:
    """Return a module's parameters with their types, as "beta (int), fast (bool)"."""
    return ", ".join(f"{name} ({kind})" for name, kind in _types(module).items())


def _types(module: Path) -> dict[str, str]:
    lines = [line.split(":", 1) for line in _field(module, "parm")]
    return {name: text.rpartition("(")[2].rstrip(")") for name, text in lines}


def _field(module: Path, name: str) -> Sequence[str]:
    done = subprocess.run([*MODINFO, "-F", name, str(module)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{module} is no kernel module: {done.stderr.strip()}")
    return done.stdout.splitlines()
