"""Snapshots of the learner: which are kept, and for which profiles."""

from __future__ import annotations

from unittest.mock import Mock

import torch

from env.profile import Profile, load_profile, profile_from_config
from export.formats.blob import read_blob
from training.options import TrainConfig
from training.policy import initial_policy
from training.ppo import PpoOptions
from training.sampling.rollout_sampler import BehaviourPolicy, RolloutSampler

WITH = profile_from_config({"name": "x", "paths": {"a": {"rivals": ["cubic", "snapshot"]}}})
NOBODY = BehaviourPolicy({}, torch.zeros(2))


def sampler_of(profile: Profile, every: int, limit: int) -> RolloutSampler:
    options = PpoOptions(snapshot_every=every, snapshots=limit, overlap=False)
    return RolloutSampler(TrainConfig(profile=profile, algo=options), Mock())


def taken(sampler: RolloutSampler, updates: int) -> list[list[str]]:
    """The names of the snapshots after each update."""
    names = []
    for update in range(1, updates + 1):
        sampler.submit(NOBODY, 0.0)
        sampler._under_way.clear()
        assert sampler.updates == update
        sampler.observe(initial_policy(8, update).state_dict())
        names.append([read_blob(file, "a snapshot")[1].name for file in sampler.state()["snapshots"]])
    return names


def test_the_newest_are_kept() -> None:
    history = taken(sampler_of(WITH, every=3, limit=2), 10)
    assert history[:4] == [[], [], ["update-3"], ["update-3"]]
    assert history[-2:] == [["update-6", "update-9"]] * 2


def test_none_are_taken_that_nobody_meets() -> None:
    assert taken(sampler_of(load_profile("bottleneck"), every=1, limit=2), 1) == [[]]


def test_what_is_restored_is_what_there_was() -> None:
    sampler, other = (sampler_of(WITH, every=1, limit=3) for _ in range(2))
    assert taken(sampler, 5)[-1] == ["update-3", "update-4", "update-5"]
    other.restore(sampler.state())
    assert other.state() == sampler.state()
