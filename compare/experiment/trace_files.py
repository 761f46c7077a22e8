"""The traces that scenarios use, by their keys among an experiment's hashes, and those that are files of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from env.network.networks import Network
from env.network.path import Path as NetworkPath
from env.network.traces import delay, format

LINK, DELAY = "trace ", "delay trace "  # beginnings of the keys
SUFFIXES = (*delay.SUFFIXES, *format.SUFFIXES)


def traces_of(network: Network) -> dict[str, Path]:
    """Return key to file of a network's traces; raises UserError."""
    files: dict[str, Path] = {}
    if isinstance(network, NetworkPath) and network.trace:
        files[f"{LINK}{network.trace}"] = format.find_trace(network.trace)
    if isinstance(network, NetworkPath) and network.delay_trace:
        files[f"{DELAY}{network.delay_trace}"] = format.find_trace(network.delay_trace, delay.SUFFIXES)
    return files


def user_files(binaries: Mapping[str, str]) -> dict[str, str]:
    """Return absolute path to SHA-256 of the trace files among an experiment's hashes that are not the project's."""
    files = {}
    for key, sha256 in binaries.items():
        name = next((key.removeprefix(start) for start in (LINK, DELAY) if key.startswith(start)), "")
        if name.endswith(SUFFIXES):
            files[name] = sha256
    return files


def ending(name: str) -> str:
    """Return the ending of a trace file's name."""
    return next(suffix for suffix in reversed(SUFFIXES) if name.endswith(suffix))
