"""Counts the interventions of tcp_ndm's guard, by their reason. Runs in the guest."""

from __future__ import annotations

from pathlib import Path

MODULE = Path("/sys/module/tcp_ndm")
REASONS = ("starving",)  # of kernel/ndm/ndm_guard.h


class Guard:
    """The counters of all slots."""

    def __init__(self) -> None:
        self._totals: dict[Path, int] = {}  # counter -> its value at the last call

    def find(self) -> None:
        """Find the slots; to be called after a module has been loaded, or a slot set."""
        files = [file for reason in REASONS for file in MODULE.glob(f"*/counters/guard_{reason}")]
        self._totals = {file: int(file.read_text()) for file in files}

    def interventions(self) -> dict[str, int]:
        """Return how often the guard has intervened since the last call, by reason, without zeros."""
        since = dict.fromkeys(REASONS, 0)
        # a module may have been unloaded
        for file in [file for file in self._totals if file.exists()]:
            total = int(file.read_text())
            last = self._totals[file]
            # a module that was loaded again counts from 0
            since[file.name.removeprefix("guard_")] += total - last if total >= last else total
            self._totals[file] = total
        return {reason: count for reason, count in since.items() if count}
