"""What a recording says of its teachers, as a table; and who taught best where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from datasets.teachers.recording import Demonstration, Recording
from env.schema import ACTIONS


def best_of(demonstrations: Sequence[Demonstration]) -> Demonstration:
    """Return the one with the highest mean reward of an interval: what a training maximises."""
    return max(demonstrations, key=lambda demonstration: float(demonstration.reward.mean()))


def table(recording: Recording) -> str:
    """Return a Markdown table, one row for each teacher."""
    best = Counter(best_of(group).scheme for group in recording.by_course())
    cuts = [f"{action.name} at a bound" for action in ACTIONS]
    heads = ["teacher", "connections", "decisions", "reward", "best on", *cuts]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for scheme in dict.fromkeys(demonstration.scheme for demonstration in recording.demonstrations):
        own = [demonstration for demonstration in recording.demonstrations if demonstration.scheme == scheme]
        actions = np.concatenate([demonstration.actions for demonstration in own])  # [decisions, A]
        reward = np.mean([demonstration.reward.mean() for demonstration in own])
        bounds = [np.mean(np.isin(actions[:, a], (action.low, action.high))) for a, action in enumerate(ACTIONS)]
        cells = [scheme, str(len(own)), str(len(actions)), f"{reward:.3f}", str(best[scheme])]
        lines.append(f"| {' | '.join([*cells, *(f'{share:.1%}' for share in bounds)])} |")
    return "\n".join(lines)
