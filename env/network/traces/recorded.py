"""Checks the recordings of datasets/traces/recorded against their sources.

``sources.json`` has for each recording what was recorded, the repository with its commit, the licence, whose text lies
beside it, and the path and SHA-256 of each file there. The compressed files here have the same content.
"""

from __future__ import annotations

import json
from typing import Any

from env.errors import UserError
from env.network.traces import delay
from env.network.traces.delay import load_delay_trace
from env.network.traces.format import FOLDER, SUFFIXES, load_trace, read_text
from env.network.traces.manifest import digest

RECORDINGS = FOLDER / "recorded"


def recordings() -> dict[str, dict[str, Any]]:
    """Return the content of sources.json: the facts about each recording, by name."""
    content: dict[str, dict[str, Any]] = json.loads((RECORDINGS / "sources.json").read_text())
    return content


def check() -> list[str]:
    """Return the problems of the recordings, as text; empty if there are none."""
    problems = []
    listed: set[str] = set()
    for name, facts in recordings().items():
        if not (RECORDINGS / facts["license_file"]).is_file():
            problems.append(f"recorded/{name}: {facts['license_file']} is missing, the text of its licence")
        for file, source in facts["files"].items():
            listed.add(file)
            problems += _problems(file, source["sha256"])
    present = {file.name for file in RECORDINGS.iterdir() if file.name.endswith((*SUFFIXES, *delay.SUFFIXES))}
    problems += [f"recorded/{file} has no source in sources.json" for file in sorted(present - listed)]
    return problems


def _problems(file: str, sha256: str) -> list[str]:
    try:
        if digest(read_text(RECORDINGS / file)) != sha256:
            return [f"recorded/{file} is not the file of its source: its SHA-256 differs"]
        load = load_delay_trace if file.endswith(delay.SUFFIXES) else load_trace
        load(str(RECORDINGS / file))
    except UserError as error:
        return [str(error)]
    return []
