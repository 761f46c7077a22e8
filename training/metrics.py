"""The metrics of a training. Each file that writes metrics has a table of them, `METRICS`.

studies/reference/training_metrics.py makes docs/reference/metrics.md from these tables, and
tests/lab/training/test_learners.py compares them with what a training writes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from env.reward import TERMS


class Metric(NamedTuple):
    """A metric. In its name a word in capitals stands for any name: components/NAME/reward."""

    name: str
    unit: str
    meaning: str

    def covers(self, name: str) -> bool:
        """Return whether this is the entry of a metric of that name."""
        return re.fullmatch(re.sub(r"[A-Z]{2,}", r"[^/]+", self.name), name) is not None


OUTCOME_METRICS = (  # of env.reward.OUTCOME, which every learner writes
    *(
        Metric(f"charts/reward_{name}", "", f"weighted term of the reward: {term['help']}")
        for name, term in TERMS.items()
    ),
    Metric("charts/goodput_mbps", "Mbit/s", "goodput"),
    Metric("charts/goodput_share", "", "goodput over the reference goodput of the path"),
    Metric("charts/rtt_ms", "ms", "mean RTT"),
    Metric("charts/queueing_delay_ms", "ms", "mean RTT above the RTT without a queue"),
    Metric("charts/loss_rate", "", "retransmitted packets over sent packets"),
)
