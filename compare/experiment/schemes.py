"""Finds the schemes of env/network/schemes.py; raises CompareError."""

from __future__ import annotations

from collections.abc import Sequence

from compare.errors import CompareError
from env.network import schemes
from env.network.schemes import Scheme, SchemeError


def find_schemes(names: Sequence[str]) -> list[Scheme]:
    """Return the schemes of these names, in order; raises CompareError for an unknown or repeated one."""
    try:
        return schemes.find_schemes(names)
    except SchemeError as error:
        raise CompareError(str(error)) from error


def find_scheme(name: str) -> Scheme:
    """Return the scheme of one name; raises CompareError when it is unknown."""
    return find_schemes([name])[0]
