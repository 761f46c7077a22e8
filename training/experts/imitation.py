"""A warm start: the policy imitates recorded experts before reinforcement learning begins.

This is behaviour cloning (Pomerleau, "ALVINN", 1989) through time. The input is the sequence of observations of an
expert's connection; the target is the sequence of equivalent actions (training/experts/equivalent.py). The loss is the
squared error of the mean action, which is the Gaussian likelihood with a fixed deviation. Gradients flow back within
sequences of SEQUENCE decisions, each of which starts from its stored hidden state. Some episodes are held out: training
stops when their error has not improved for PATIENCE rounds, and the policy gets the weights with the lowest held-out
error.

Letters of shapes as in training/policy.py; L is the longest connection, E the number of connections.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from env.reward import RewardWeights
from env.trajectory import Trajectory
from training.adam import Adam
from training.experts.recording import RecordingError, read
from training.experts.summary import best_of
from training.policy import Policy

HELD_OUT = 0.1  # of the episodes, at least one
LEARNING_RATE = 3e-3  # Adam
SEQUENCE = 64  # decisions; length of backpropagation through time
BATCH = 64  # sequences in a gradient step, at most
ROUND = 16  # gradient steps between two evaluations of the held-out episodes
PATIENCE = 20  # rounds without a lower held-out error, before training stops
GRADIENT_LIMIT = 0.5


@dataclass(frozen=True)
class Lessons:
    """Training and held-out trajectories. experts: number of episodes by expert."""

    training: Sequence[Trajectory]
    held_out: Sequence[Trajectory]
    experts: dict[str, int]


@dataclass
class ImitationErrors:
    """Mean squared error of an action by round; entry 0 is before training. best: the round with the final weights."""

    training: list[float]
    held_out: list[float]
    best: int


def read_lessons(file: Path, weights: RewardWeights, best: bool, seed: int) -> Lessons:
    """Read a recording, and hold out some of its episodes.

    best: use only the expert with the highest reward on each episode. Raises RecordingError.
    """
    recording = read(file)
    chosen = [[best_of(recording, lessons, weights)] if best else lessons for lessons in recording.by_episode()]
    episodes = [[t for lesson in lessons for t in recording.trajectories_of(lesson, weights)] for lessons in chosen]
    order = np.random.default_rng(seed).permutation(len(episodes)).tolist()
    held_out = min(max(1, round(HELD_OUT * len(episodes))), len(episodes) - 1)
    return Lessons(
        [trajectory for n in order[held_out:] for trajectory in episodes[n]],
        [trajectory for n in order[:held_out] for trajectory in episodes[n]],
        dict(Counter(lesson.scheme for lessons in chosen for lesson in lessons)),
    )


def imitate(
    policy: Policy,
    lessons: Lessons,
    steps: int,
    weight_limit: float,
    seed: int,
    on_round: Callable[[int, float, float], object] = lambda *_: None,
) -> ImitationErrors:
    """Clone the experts into the policy, and return the errors by round.

    steps: maximum number of gradient steps. weight_limit: largest magnitude of a weight, so that int16 can hold it.
    on_round: called after each round with the steps so far, the training error and the held-out error.
    """
    training, held_out = _Batch.of(lessons.training), _Batch.of(lessons.held_out)
    rng = np.random.default_rng(seed)
    optimizer = Adam((policy.parameters(), LEARNING_RATE))
    error, states = training.evaluate(policy)
    errors = ImitationErrors([error], [held_out.evaluate(policy)[0]], best=0)
    best_weights = _weights(policy)
    for first in range(0, steps, ROUND):
        sequences = training.sequences(states)
        for _ in range(first, min(first + ROUND, steps)):
            indices = rng.permutation(sequences.size)[:BATCH]
            optimizer.zero_grad()
            torch.autograd.backward(sequences.take(torch.from_numpy(indices)).loss(policy))
            optimizer.step(GRADIENT_LIMIT)
            with torch.no_grad():
                for weight in policy.parameters():
                    weight.clamp_(-weight_limit, weight_limit)
        error, states = training.evaluate(policy)
        errors.training.append(error)
        errors.held_out.append(held_out.evaluate(policy)[0])
        on_round(min(first + ROUND, steps), errors.training[-1], errors.held_out[-1])
        rounds = len(errors.held_out) - 1
        if errors.held_out[-1] < errors.held_out[errors.best]:
            errors.best, best_weights = rounds, _weights(policy)
        elif rounds - errors.best >= PATIENCE:
            break
    policy.load_state_dict(best_weights)
    return errors


def _weights(policy: Policy) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in policy.state_dict().items()}


@dataclass(frozen=True)
class _Batch:
    """A batch of connections or of sequences, padded at their ends."""

    observations: Tensor  # [L, E, D]
    actions: Tensor  # [L, E, A]
    valid: Tensor  # [L, E], False in the padding
    begin: Tensor | None = None  # [E, H], state before the first observation; None: zero, for whole connections

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory]) -> _Batch:
        """Return a batch of whole connections."""
        pad = nn.utils.rnn.pad_sequence
        return cls(
            pad([torch.from_numpy(t.observations[:-1]) for t in trajectories]),
            pad([torch.from_numpy(t.actions) for t in trajectories]),
            pad([torch.ones(len(t.actions), dtype=torch.bool) for t in trajectories]),
        )

    @property
    def size(self) -> int:
        """E, the number of connections or sequences."""
        return self.valid.shape[1]

    @torch.no_grad()
    def evaluate(self, policy: Policy) -> tuple[float, Tensor]:
        """Return the mean squared error of an action, and the states [L, E, H] after each observation."""
        states, _ = policy.rnn(self.observations)
        return float((policy.readout(states) - self.actions)[self.valid].square().mean()), states

    def sequences(self, states: Tensor) -> _Batch:
        """Return the connections cut into sequences of SEQUENCE decisions. states: [L, E, H], from evaluate()."""
        before = torch.cat((torch.zeros_like(states[:1]), states[:-1]))
        firsts = range(0, len(self.valid), SEQUENCE)

        def side_by_side(connections: Tensor) -> Tensor:
            parts = [connections[first : first + SEQUENCE] for first in firsts]
            missing = SEQUENCE - len(parts[-1])
            parts[-1] = nn.functional.pad(parts[-1], (0, 0) * (connections.dim() - 1) + (0, missing))
            return torch.cat(parts, 1)

        valid = side_by_side(self.valid)
        used = valid.any(0)  # a short connection has no later sequences
        begin = torch.cat([before[first] for first in firsts])
        observations, actions = side_by_side(self.observations), side_by_side(self.actions)
        return _Batch(observations[:, used], actions[:, used], valid[:, used], begin[used])

    def take(self, indices: Tensor) -> _Batch:
        """Return the sequences with these indices."""
        begin = None if self.begin is None else self.begin[indices]
        return _Batch(self.observations[:, indices], self.actions[:, indices], self.valid[:, indices], begin)

    def loss(self, policy: Policy) -> Tensor:
        """Return the mean squared error of an action."""
        begin = torch.zeros(self.size, policy.hidden) if self.begin is None else self.begin
        squared: Tensor = (policy(self.observations, begin) - self.actions)[self.valid].square()
        return squared.mean()


def warm_start(
    policy: Policy, file: Path, weights: RewardWeights, *, best_only: bool, steps: int, weight_limit: float, seed: int
) -> ImitationErrors:
    """Clone the experts of a recording into the policy, and print the result.

    weights: of the reward that decides which expert is the best on an episode. best_only: clone only that expert.
    steps, weight_limit: as for imitate(). Raises RecordingError, also for fewer than two episodes with decisions.
    """
    lessons = read_lessons(file, weights, best_only, seed)
    if not lessons.training or not lessons.held_out:
        raise RecordingError(f"{file} has fewer than two episodes with decisions: record more episodes=")
    with tqdm(total=steps, unit=" steps", desc="imitation", dynamic_ncols=True) as bar:

        def show(done: int, error: float, held_out: float) -> None:
            bar.set_postfix_str(f"error {error:.4f}, held out {held_out:.4f}", refresh=False)
            bar.update(done - bar.n)

        errors = imitate(policy, lessons, steps, weight_limit, seed, show)
    experts = ", ".join(f"{name} on {count}" for name, count in lessons.experts.items())
    print(
        f"imitation: {experts} episodes; squared error on held-out episodes {errors.held_out[0]:.4f} before, "
        f"{errors.held_out[errors.best]:.4f} after {ROUND * errors.best} steps",
        file=sys.stderr,
    )
    return errors
