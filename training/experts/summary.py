"""A table of the experts of a recording, and the best expert on each episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from env.markdown import markdown_table
from env.reward import RewardWeights
from env.schema import ACTION_FRAC, ACTIONS
from training.experts.recording import Lesson, Recording


def reward_of(recording: Recording, lesson: Lesson, weights: RewardWeights) -> float:
    """Return the mean reward of an interval; -inf for a lesson without decisions."""
    rewards = [trajectory.rewards for trajectory in recording.trajectories_of(lesson, weights)]
    return float(np.concatenate(rewards).mean()) if rewards else -np.inf


def best_of(recording: Recording, lessons: Sequence[Lesson], weights: RewardWeights) -> Lesson:
    """Return the lesson with the highest reward; the first one if several have it."""
    return max(lessons, key=lambda lesson: reward_of(recording, lesson, weights))


def table(recording: Recording, weights: RewardWeights) -> str:
    """Return a Markdown table, one row for each expert."""
    best = Counter(best_of(recording, lessons, weights).scheme for lessons in recording.by_episode())
    heads = ["expert", "episodes", "decisions", "reward", "best on", *(f"{a.name} at a bound" for a in ACTIONS)]
    rows = []
    for scheme in dict.fromkeys(lesson.scheme for lesson in recording.lessons):
        lessons = [lesson for lesson in recording.lessons if lesson.scheme == scheme]
        trajectories = [trajectory for lesson in lessons for trajectory in recording.trajectories_of(lesson, weights)]
        cells = [scheme, str(len(lessons)), str(sum(len(trajectory.rewards) for trajectory in trajectories))]
        if trajectories:
            actions = np.concatenate([trajectory.actions for trajectory in trajectories])  # [decisions, A]
            cells += [f"{np.mean([trajectory.rewards.mean() for trajectory in trajectories]):.3f}", str(best[scheme])]
            cells += [f"{share:.1%}" for share in (np.abs(actions) >= 1 - 2.0**-ACTION_FRAC).mean(0)]
        rows.append(cells)
    return markdown_table(heads, rows)
