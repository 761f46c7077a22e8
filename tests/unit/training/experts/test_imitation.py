"""The warm start: experts are cloned through time, the best of each episode, and a training begins where they ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from env.reward import RewardWeights
from env.trajectory import Trajectory
from export.checkpoint import policy_sha256
from tests.support.experts import lesson, recording
from training.experts import imitation
from training.experts.imitation import Lessons, imitate, read_lessons, warm_start
from training.experts.recording import RecordingError, write
from training.policy import INITIAL_ACTION, Policy, initial_policy

WEIGHTS = RewardWeights()
OPTIONS: dict[str, Any] = {"best_only": True, "steps": 3000, "weight_limit": 8.0, "seed": 1}


pytestmark = pytest.mark.usefixtures("one_thread")


def delayed(seen: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Act on what was seen one decision ago: nobody without a memory can."""
    before = np.vstack([np.zeros_like(seen[:1]), seen[:-1]])
    return np.stack([0.4 * np.tanh(before[:, 0] * 2), 0.3 * seen[:, 1]], axis=1)


def made(act: object, episodes: int, intervals: int) -> list[Trajectory]:
    whole = recording(*(lesson("bbr", n % 4, intervals + n, act) for n in range(episodes)))  # type: ignore[arg-type]
    return [trajectory for one in whole.lessons for trajectory in whole.trajectories_of(one, WEIGHTS)]


def test_expert_with_a_memory_is_cloned() -> None:
    lessons = Lessons(made(delayed, 12, 90), made(delayed, 15, 130)[12:], {"bbr": 12})
    policy = initial_policy(8, 1)
    progress = imitate(policy, lessons, 600, weight_limit=8.0, seed=1)
    actions = np.concatenate([trajectory.actions for trajectory in lessons.held_out])
    assert progress.held_out[0] == pytest.approx(np.square(actions - INITIAL_ACTION).mean(), rel=0.2)
    assert min(progress.held_out) == progress.held_out[progress.best] < 0.1 * progress.held_out[0]


def test_weights_stay_within_limit_best_are_returned() -> None:
    lessons = Lessons(made(delayed, 6, 40), made(None, 8, 40)[6:], {"bbr": 6})  # held-out episodes are noise
    policy = initial_policy(8, 1)
    progress = imitate(policy, lessons, 400, weight_limit=0.3, seed=1)
    assert (
        max(float(weight.detach().abs().max()) for weight in policy.parameters()) <= np.float32(0.3)
        or not progress.best
    )
    returned = imitation._Batch.of(lessons.held_out).evaluate(policy)[0]
    assert returned == pytest.approx(min(progress.held_out))
    assert len(progress.held_out) - 1 == min(400 // imitation.ROUND, progress.best + imitation.PATIENCE)


def test_the_same_seed_gives_the_same_weights() -> None:
    lessons = Lessons(made(delayed, 6, 40), made(delayed, 8, 40)[6:], {"bbr": 6})
    digests = []
    for _ in range(2):
        policy = initial_policy(8, 1)
        torch.rand(3)  # of the generator that nothing here may ask
        imitate(policy, lessons, 20, weight_limit=8.0, seed=1)
        digests.append(policy_sha256(policy.state_dict()))
    assert digests[0] == digests[1] != policy_sha256(initial_policy(8, 1).state_dict())


def test_sequences_are_the_connections_they_were_cut_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitation, "SEQUENCE", 16)
    connections = made(delayed, 3, 1) + made(delayed, 2, 40)  # lengths 1, 2, 3, 40, 41
    batch = imitation._Batch.of(connections)
    policy = initial_policy(8, 1)
    with torch.no_grad():
        policy.readout.weight.mul_(50)
    error, states = batch.evaluate(policy)
    cut = batch.sequences(states)
    assert cut.size == 3 * 1 + 2 * 3
    assert int(cut.valid.sum()) == sum(len(connection.actions) for connection in connections)
    assert float(cut.loss(policy).detach()) == pytest.approx(error, rel=1e-5)
    some = cut.take(torch.tensor([0, 1]))
    assert some.size == 2
    assert float(some.loss(policy).detach()) != pytest.approx(error, rel=1e-3)


def test_best_expert_is_chosen_and_episodes_held_out(tmp_path: Path) -> None:
    file = tmp_path / "experts.parquet"
    shares = {"bbr": (0.9, 0.2, 0.9, 0.2), "cubic": (0.3, 0.8, 0.3, 0.3)}
    write(file, recording(*(lesson(s, n, 9 + n, share=shares[s][n]) for n in range(4) for s in shares)))
    best = read_lessons(file, WEIGHTS, best=True, seed=1)
    assert best.experts == {"bbr": 2, "cubic": 2}
    assert (len(best.training), len(best.held_out)) == (3, 1)
    every = read_lessons(file, WEIGHTS, best=False, seed=1)
    assert every.experts == {"bbr": 4, "cubic": 4}
    lengths = [{len(trajectory.actions) for trajectory in part} for part in (every.training, every.held_out)]
    assert not lengths[0] & lengths[1], "no episode is both learned from and held out"
    assert sorted(lengths[0] | lengths[1]) == [9, 10, 11, 12]


def test_a_recording_that_teaches_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "experts.parquet"
    write(file, recording(lesson("bbr", 0, 5)))
    with pytest.raises(RecordingError, match="fewer than two episodes with decisions: record more episodes="):
        warm_start(Policy(), file, WEIGHTS, **OPTIONS)
    with pytest.raises(RecordingError, match="there is no recording"):
        warm_start(Policy(), Path("nowhere.parquet"), WEIGHTS, **OPTIONS)
