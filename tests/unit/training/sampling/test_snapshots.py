"""Snapshots of the learner: which are kept, and for which profiles."""

from __future__ import annotations

from env.profile import load_profile, profile_from_config
from export.formats.blob import read_blob
from training.sampling.snapshots import Snapshots
from training.policy import initial_policy

WITH = profile_from_config({"name": "x", "paths": {"a": {"rivals": ["cubic", "snapshot"]}}})


def taken(snapshots: Snapshots) -> list[str]:
    return [read_blob(file, "a snapshot")[1].name for file in snapshots.files]


def test_the_newest_are_kept() -> None:
    snapshots = Snapshots(WITH, every=3, limit=2)
    history = []
    for update in range(1, 11):
        snapshots.observe(update, initial_policy(8, update).state_dict())
        history.append(taken(snapshots))
    assert history[1:4] == [[], ["update-3"], ["update-3"]]
    assert history[-2:] == [["update-6", "update-9"]] * 2


def test_none_are_taken_that_nobody_meets() -> None:
    snapshots = Snapshots(load_profile("bottleneck"), every=1, limit=2)
    snapshots.observe(1, initial_policy(8, 1).state_dict())
    assert snapshots.files == ()


def test_what_is_restored_is_what_there_was() -> None:
    snapshots, other = (Snapshots(WITH, every=1, limit=3) for _ in range(2))
    for update in range(1, 6):
        snapshots.observe(update, initial_policy(8, update).state_dict())
    other.restore(snapshots.state())
    assert other.files == snapshots.files
    assert taken(other) == ["update-3", "update-4", "update-5"]
