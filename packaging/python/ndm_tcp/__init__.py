"""NDM-TCP, a TCP congestion control that you can train, and its lab.

    from ndm_tcp import VirtualLab, Path, compare

The project's own packages are called env, training, export and compare. activate() makes them importable, in this
process alone, and so does the first use of a name of this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ndm_tcp.activation import activate

_MODULES = {"Lab": "env.lab", "VirtualLab": "env.lab", "Path": "env.network.path", "compare": "compare"}

__all__ = ["Lab", "Path", "VirtualLab", "activate", "compare"]


def __getattr__(name: str) -> Any:
    """Import a name from the source tree when it is asked for."""
    if name in _MODULES:
        activate()
        return getattr(import_module(_MODULES[name]), name)
    if name == "__version__":
        from ndm_tcp.workspace import version

        return version()
    raise AttributeError(f"module 'ndm_tcp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
