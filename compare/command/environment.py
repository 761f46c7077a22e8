"""environment.json: the command of a comparison and everything about the machine, kernel and modules."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from compare.experiment.changes import unquoted
from compare.experiment.experiment import Experiment
from compare.metrics.cells import Cell
from env.checkout import git_revision

PACKAGES = ("numpy", "scipy", "plotly", "hydra-core", "torch")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def describe(experiment: Experiment, cells: list[Cell], command: list[str], wall_s: float) -> dict[str, Any]:
    """Return the content of environment.json. wall_s: wall time of the runs of this call."""
    kernels = {cell.environment["kernel"] for cell in cells if "kernel" in cell.environment}
    of_scenarios: dict[str, dict[str, Any]] = {}
    for cell in cells:
        if cell.environment:
            of_scenarios.setdefault(cell.scenario.name, cell.environment)
    of_schemes = {
        key: {cell.scheme.name: cell.environment[key] for cell in cells if cell.environment.get(key)}
        for key in ("modules", "parameters", "models")
    }
    return {
        "kernel": sorted(kernels),
        "binaries": experiment.binaries,
        **of_schemes,
        "scenarios": {
            name: {"qdiscs": environment.get("qdiscs"), "sysctls": environment.get("sysctls")}
            for name, environment in of_scenarios.items()
        },
        "oracle_packets": dict(experiment.windows),
        "seeds": list(range(1, experiment.seeds + 1)),
        "failed": [
            {"scenario": cell.scenario.name, "scheme": cell.scheme.name, "seed": seed, "error": error}
            for cell in cells
            for seed, error in cell.failed.items()
        ],
        "sample_ms": experiment.sample_ms,
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
        "host": {"kernel": platform.release(), "machine": platform.machine(), "cores": len(os.sched_getaffinity(0))},
        "git_revision": git_revision(),
        "command": shlex.join(command),
        "wall_s": round(wall_s, 1),
    }


def command_line() -> list[str]:
    """Return the user's command, with the program's name in place of its path."""
    return ["python", Path(sys.argv[0]).name, *map(unquoted, sys.argv[1:])]


def render(environment: dict[str, Any]) -> str:
    """Return the text of environment.json."""
    return json.dumps(environment, indent=1) + "\n"
