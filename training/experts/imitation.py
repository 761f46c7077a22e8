"""A warm start: the policy imitates recorded experts before reinforcement learning begins.

This is behaviour cloning (Pomerleau, "ALVINN", 1989) through time. The input is the sequence of observations of an
expert's connection; the target is the sequence of equivalent actions (training/experts/equivalent.py). The loss is the
squared error of the mean action, which is the Gaussian likelihood with a fixed deviation. Gradients flow back within
sequences of SEQUENCE decisions, each of which starts from its stored hidden state. Some episodes are held out: training
stops when their error has not improved for PATIENCE rounds, and the weights with the lowest held-out error are kept.

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
from training.experts.recording import Lesson, Recording, RecordingError, read
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

    learned: Sequence[Trajectory]
    held_out: Sequence[Trajectory]
    experts: dict[str, int]


@dataclass(frozen=True)
class Progress:
    """Mean squared error of an action by round; entry 0 is before training. best: the round whose weights are kept."""

    learned: list[float]
    held_out: list[float]
    best: int


def read_lessons(file: Path, weights: RewardWeights, best: bool, seed: int) -> Lessons:
    """Read a recording, and hold out some of its episodes.

    best: keep only the expert with the highest reward on each episode. Raises RecordingError.
    """
    recording = read(file)
    chosen = [_choose(recording, lessons, weights, best) for lessons in recording.by_course()]
    episode_configs = [[t for lesson in lessons for t in recording.judged(lesson, weights)] for lessons in chosen]
    order = np.random.default_rng(seed).permutation(len(episode_configs)).tolist()
    apart = min(max(1, round(HELD_OUT * len(episode_configs))), len(episode_configs) - 1)
    return Lessons(
        [trajectory for n in order[apart:] for trajectory in episode_configs[n]],
        [trajectory for n in order[:apart] for trajectory in episode_configs[n]],
        dict(Counter(lesson.scheme for lessons in chosen for lesson in lessons)),
    )


def _choose(recording: Recording, lessons: list[Lesson], weights: RewardWeights, best: bool) -> list[Lesson]:
    return [best_of(recording, lessons, weights)] if best else lessons


def imitate(
    policy: Policy,
    lessons: Lessons,
    steps: int,
    weight_limit: float,
    seed: int,
    follow: Callable[[int, float, float], object] = lambda *_: None,
) -> Progress:
    """Clone the experts into the policy, and return the errors by round.

    steps: maximum number of gradient steps. weight_limit: largest magnitude of a weight, so that int16 can hold it.
    follow: called after each round with the steps so far, the training error and the held-out error.
    """
    learned, judged = _Batch.of(lessons.learned), _Batch.of(lessons.held_out)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(policy.parameters(), LEARNING_RATE, eps=1e-5)
    error, states = learned.play(policy)
    errors = [error], [judged.play(policy)[0]]
    best, kept = 0, _weights(policy)
    for first in range(0, steps, ROUND):
        sequences = learned.sequences(states)
        for _ in range(first, min(first + ROUND, steps)):
            part = rng.permutation(sequences.size)[:BATCH]
            optimizer.zero_grad()
            torch.autograd.backward(sequences.take(torch.from_numpy(part)).loss(policy))
            nn.utils.clip_grad_norm_(policy.parameters(), GRADIENT_LIMIT)
            optimizer.step()
            with torch.no_grad():
                for weight in policy.parameters():
                    weight.clamp_(-weight_limit, weight_limit)
        error, states = learned.play(policy)
        errors[0].append(error)
        errors[1].append(judged.play(policy)[0])
        follow(min(first + ROUND, steps), errors[0][-1], errors[1][-1])
        rounds = len(errors[1]) - 1
        if errors[1][-1] < errors[1][best]:
            best, kept = rounds, _weights(policy)
        elif rounds - best >= PATIENCE:
            break
    policy.load_state_dict(kept)
    return Progress(*errors, best)


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
    def play(self, policy: Policy) -> tuple[float, Tensor]:
        """Return the mean squared error of an action, and the states [L, E, H] after each observation."""
        states, _ = policy.rnn(self.observations)
        return float((policy.readout(states) - self.actions)[self.valid].square().mean()), states

    def sequences(self, states: Tensor) -> _Batch:
        """Return the connections cut into sequences of SEQUENCE decisions. states: [L, E, H], from play()."""
        before = torch.cat((torch.zeros_like(states[:1]), states[:-1]))
        firsts = range(0, len(self.valid), SEQUENCE)

        def side_by_side(whole: Tensor) -> Tensor:
            parts = [whole[first : first + SEQUENCE] for first in firsts]
            parts[-1] = nn.functional.pad(parts[-1], (0, 0) * (whole.dim() - 1) + (0, SEQUENCE - len(parts[-1])))
            return torch.cat(parts, 1)

        valid = side_by_side(self.valid)
        some = valid.any(0)  # a short connection has no later sequences
        begin = torch.cat([before[first] for first in firsts])
        observations, actions = side_by_side(self.observations), side_by_side(self.actions)
        return _Batch(observations[:, some], actions[:, some], valid[:, some], begin[some])

    def take(self, part: Tensor) -> _Batch:
        """Return the sequences with these indices."""
        begin = None if self.begin is None else self.begin[part]
        return _Batch(self.observations[:, part], self.actions[:, part], self.valid[:, part], begin)

    def loss(self, policy: Policy) -> Tensor:
        """Return the mean squared error of an action."""
        begin = torch.zeros(self.size, policy.hidden) if self.begin is None else self.begin
        squared: Tensor = (policy(self.observations, begin) - self.actions)[self.valid].square()
        return squared.mean()


def warm_start(
    policy: Policy, file: Path, weights: RewardWeights, *, best_only: bool, steps: int, weight_limit: float, seed: int
) -> Progress:
    """Clone the experts of a recording into the policy, and print the result.

    weights: of the reward that decides which expert is the best on an episode. best_only: clone only that expert.
    steps, weight_limit: as for imitate(). Raises RecordingError, also for fewer than two episodes with decisions.
    """
    lessons = read_lessons(file, weights, best_only, seed)
    if not lessons.learned or not lessons.held_out:
        raise RecordingError(f"{file} has fewer than two episodes with decisions: record more episodes=")
    with tqdm(total=steps, unit=" steps", desc="imitation", dynamic_ncols=True) as bar:

        def show(done: int, learned: float, held_out: float) -> None:
            bar.set_postfix_str(f"error {learned:.4f}, held out {held_out:.4f}", refresh=False)
            bar.update(done - bar.n)

        progress = imitate(policy, lessons, steps, weight_limit, seed, show)
    experts = ", ".join(f"{name} on {count}" for name, count in lessons.experts.items())
    print(
        f"imitation: {experts} episodes; squared error on held-out episodes {progress.held_out[0]:.4f} before, "
        f"{progress.held_out[progress.best]:.4f} after {ROUND * progress.best} steps",
        file=sys.stderr,
    )
    return progress
