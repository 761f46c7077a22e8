"""docs/reference/metrics.md: every metric that a training writes, from the tables beside the code that writes them."""

from __future__ import annotations

from collections.abc import Iterable

from env.markdown import markdown_table
from training.config import LEARNERS
from training.loop import METRICS
from training.metrics import Metric


def render() -> str:
    """Return the page."""
    learners = "\n\n".join(
        f"## {learner.TITLE}, `algo.kind={kind}`\n\n{_table(learner.METRICS)}" for kind, learner in LEARNERS.items()
    )
    return f"""# Metrics of a training

A training writes them for TensorBoard; the horizontal axis counts decisions. A word in capitals stands for any name.

## Every learner

{_table(METRICS)}

{learners}
"""


def _table(metrics: Iterable[Metric]) -> str:
    return markdown_table(["metric", "unit", "meaning"], [[f"`{m.name}`", m.unit, m.meaning] for m in metrics])
