"""Writes the project's traces and datasets/traces/manifest.json, and checks them against each other."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from env.network.traces.format import FOLDER, load_trace, read_text
from env.network.traces.generate import differences, generate
from env.network.traces.models import CATALOGUE
from env.network.traces.statistics import statistics

MANIFEST = FOLDER / "manifest.json"


def trace_file(name: str) -> Path:
    """Return the file of a trace of the catalogue."""
    return FOLDER / f"{name}.trace.gz"


def digest(text: str) -> str:
    """Return the SHA-256 of a trace's text; compressed bytes would differ between versions of zlib."""
    return hashlib.sha256(text.encode()).hexdigest()


def write() -> None:
    """Generate and write every trace of the catalogue, and the manifest."""
    manifest = {}
    for name, entry in CATALOGUE.items():
        trace = generate(name, entry.model, entry.seconds, entry.seed)
        file = trace_file(name)
        file.parent.mkdir(exist_ok=True)
        if not file.is_file() or read_text(file) != trace.text():  # another zlib would write other bytes
            file.write_bytes(gzip.compress(trace.text().encode(), mtime=0))
        # the last digits depend on the processor's vector units
        measured = {
            key: value if isinstance(value, int) else float(f"{value:.10g}")
            for key, value in asdict(statistics(trace)).items()
        }
        manifest[name] = asdict(entry) | {"sha256": digest(trace.text()), "statistics": measured}
    MANIFEST.write_text(json.dumps(manifest, indent=2) + "\n")


def _are_close(measured: dict[str, float], recorded: dict[str, float]) -> bool:
    """Return whether statistics are equal up to the digits that are recorded."""
    return measured.keys() == recorded.keys() and all(
        math.isclose(measured[name], recorded[name], rel_tol=1e-9) for name in measured
    )


def check() -> list[str]:
    """Return the problems of the traces and the manifest, as text; empty if there are none."""
    manifest: dict[str, Any] = json.loads(MANIFEST.read_text())
    problems = []
    for name in sorted(set(manifest) ^ set(CATALOGUE)):
        problems.append(f"{name} is in the {'manifest' if name in manifest else 'catalogue'} only")
    for name, entry in CATALOGUE.items():
        if name not in manifest:
            continue
        if not trace_file(name).is_file():
            problems.append(f"{trace_file(name)} is missing")
            continue
        if digest(read_text(trace_file(name))) != manifest[name]["sha256"]:
            problems.append(f"{trace_file(name)} is not the file of the manifest: its SHA-256 differs")
            continue
        recorded, measured = dict(manifest[name]), statistics(load_trace(name))
        same = _are_close(asdict(measured), recorded.pop("statistics"))
        if not same or asdict(entry) | {"sha256": recorded["sha256"]} != recorded:
            problems.append(f"{name}: the manifest differs from the catalogue or from the trace's statistics")
        problems += [f"{name}: {difference}" for difference in differences(measured, entry.model, entry.seconds)]
    return problems
