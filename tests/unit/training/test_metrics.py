"""The tables of metrics have every metric that a learner writes, and no other.

That of CMA-ES: tests/lab/training/test_evolution.py; of contests: tests/lab/training/curriculum/test_curriculum.py.
"""

from __future__ import annotations

import numpy as np

from env.spaces import INFO
from env.trajectory import Trajectory
from tests.support.toys import Endless, ToyPlayer
from training import loop
from training.curriculum.curriculum import METRICS as CURRICULUM
from training.learner import Sample
from training.metrics import Metric
from training.ppo import Ppo, PpoOptions
from training.rollout_sampler import describe


def test_a_word_in_capitals_stands_for_any_name() -> None:
    metric = Metric("components/NAME/reward", "", "")
    assert metric.covers("components/clean/reward")
    assert not metric.covers("components/clean/goodput")
    assert not metric.covers("components/reward")


def test_ppo_writes_the_metrics_of_its_table() -> None:
    ppo = Ppo(PpoOptions(), seed=1, privileged=0)
    rng = np.random.default_rng(0)
    episode = Trajectory(
        rng.standard_normal((11, 10), np.float32),
        rng.standard_normal((10, 2), np.float32),
        np.ones(10, np.float32),
        np.zeros((11, 0), np.float32),
        {name: np.ones(10) for name in INFO},
        "clean",
    )
    metrics = describe([episode])
    metrics |= ppo.update(Sample([episode], ppo.behaviour(), 10, 1.0, metrics))
    player = ToyPlayer(Endless(), 100)
    stopwatch = loop.Stopwatch(player)
    metrics |= stopwatch.updated(Sample([episode], ppo.behaviour(), 10, 1.0, metrics))
    table = [metric for metric in (*Ppo.METRICS, *loop.METRICS) if metric not in CURRICULUM]
    assert [name for name in metrics if not any(metric.covers(name) for metric in table)] == []
    assert [metric.name for metric in table if not any(metric.covers(name) for name in metrics)] == []
