"""The metrics of a training. Each file that writes metrics has a table of them, `METRICS`.

studies/reference/training_metrics.py makes docs/reference/metrics.md from these tables, and
tests/lab/training/test_learners.py compares them with what a training writes.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Metric(NamedTuple):
    """A metric. In its name a word in capitals stands for any name: components/NAME/reward."""

    name: str
    unit: str
    meaning: str

    def covers(self, name: str) -> bool:
        """Return whether this is the entry of a metric of that name."""
        return re.fullmatch(re.sub(r"[A-Z]{2,}", r"[^/]+", self.name), name) is not None
