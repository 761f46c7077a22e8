"""Compare congestion controls: run schemes x scenarios x seeds in the lab, and report the results.

experiment (plan, runs, files) -> metrics -> statistics -> targets -> report. command: what compare.py does.

    from compare import compare     # the same from Python, with data frames: compare/command/frames.py
"""

from __future__ import annotations

from typing import Any

import env  # noqa: F401 - before any package that may be missing: env/command.py

__all__ = ["compare"]


def __getattr__(name: str) -> Any:
    """Import compare() when it is asked for: most modules of the package need neither pandas nor the command."""
    if name == "compare":
        from compare.command.frames import compare

        return compare
    raise AttributeError(f"module 'compare' has no attribute {name!r}")
