"""Counts the interventions of tcp_ndm's guard, by their reason. Runs in the guest."""

from __future__ import annotations

from pathlib import Path

MODULES = Path("/sys/module")
REASONS = ("starving",)  # of kernel/ndm/ndm_guard.h


class Guard:
    """The counters of all models in all loaded modules."""

    def __init__(self) -> None:
        self._files: dict[str, list[Path]] = {}
        self._totals = dict.fromkeys(REASONS, 0)

    def find(self) -> None:
        """Find the models; to be called after a module has been loaded."""
        self._files = {reason: sorted(MODULES.glob(f"tcp_ndm*/*/counters/guard_{reason}")) for reason in REASONS}
        self.interventions()

    def interventions(self) -> dict[str, int]:
        """Return how often the guard has intervened since the last call, by reason, without zeros."""
        totals = {reason: sum(int(file.read_text()) for file in files) for reason, files in self._files.items()}
        since = {reason: total - self._totals[reason] for reason, total in totals.items()}
        self._totals |= totals
        return {reason: count for reason, count in since.items() if count}
