"""The reference of the reward: how it follows rate steps, flows that start later, and traces."""

from __future__ import annotations

import numpy as np
import pytest

from env.network.path import Path
from env.network.step import Step
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow
from env.reference import FlowReference

FIRST = EpisodeFlow(LEARNER)
TRACE = "train/lte-driving"
CHANGING = (
    EpisodeConfig(Path(rate_mbps=20, rtt_ms=40, steps=(Step(2.0, rate_mbps=5), Step(3.0, rtt_ms=80)))),
    EpisodeConfig(Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow("cubic", 1.1), EpisodeFlow(LEARNER, 2.5))),
    EpisodeConfig(Path(trace=TRACE, rtt_ms=40), (EpisodeFlow("cubic", 1.1),)),
)


@pytest.mark.parametrize("config", CHANGING, ids=("stepped", "staggered", "traced"))
def test_one_interval_equals_one_of_several(config: EpisodeConfig) -> None:
    t_s = np.cumsum(np.random.default_rng(1).uniform(0, 0.1, 200))
    several = FlowReference(config, FIRST).over(t_s)
    one = FlowReference(config, FIRST)
    for k in range(len(t_s) - 1):
        expected = [np.broadcast_to(array, len(t_s) - 1)[k] for array in several]
        assert list(one.of_interval(t_s[k], t_s[k + 1])) == pytest.approx(expected, rel=1e-9)


def test_the_share_halves_when_another_flow_begins() -> None:
    reference = FlowReference(CHANGING[1], FIRST)
    alone, shared, third = (reference.of_interval(t_s, t_s + 0.1) for t_s in (0.5, 1.5, 3.0))
    assert [alone.shared, shared.shared] == [False, True]
    assert alone.goodput_mbps == pytest.approx(20 * 1448 / 1514)
    assert shared.goodput_mbps == pytest.approx(20 * 1448 / 1514 / 2)
    assert third.goodput_mbps == pytest.approx(20 * 1448 / 1514 / 3)
