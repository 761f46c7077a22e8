"""Recurrent PPO with back-propagation through time, for a task that never ends.

Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimation (Schulman et al., 2016), in
the manner of CleanRL: the whole algorithm is here, top to bottom. A player (training/rollouts.py) hands in episodes and
the policy that has played them; `Ppo.advantages` judges, `Ppo.update` learns; training/loop.py calls them in turn.

The policy that has played may be one update behind. The objective is then the decoupled one of Hilton et al. ("Batch
size-invariance for policy optimization", 2022): decisions are weighted by how much likelier the policy of now is to
take them, and the clip is around the policy of now. Where both are the same, it is PPO's own.

An episode is a connection from its first decision on: nothing is carried from one to the next. It ends because its time
is up, never because anything died: what would have come next is worth what the critic says of the final observation,
which nobody decides on.

The letters of shapes are in training/policy.py; L is the length of the longest episode, E the number of them.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call

from env.schema import ACTIONS
from env.trajectory import Trajectory
from training.learner import LearnerOptions
from training.policy import (
    Critic,
    Policy,
    check_inputs,
    gaussian_divergence,
    gaussian_entropy,
    gaussian_log_probability,
)
from training.rounding import as_exported

AT_BOUND = 0.99  # a mean action that is as good as at its bound, 1
MAX_IMPORTANCE_WEIGHT = 2.0  # of a decision that the policy of now would more likely take than the one that played

POSITIVE = (  # options that must be above 0
    "rollout_decisions",
    "sequence_length",
    "epochs",
    "minibatches",
    "critic_units",
    "learning_rate",
    "critic_learning_rate",
    "clip",
    "target_kl",
    "gradient_limit",
    "initial_std",
    "final_std",
    "minimum_std",
    "weight_limit",
    "snapshot_every",
    "snapshots",
    "imitate_steps",
)


@dataclass
class PpoOptions(LearnerOptions):
    """Options of the algorithm: ``algo.<name>=`` on the command line of train.py.

    Raises ValueError for a value outside its range.
    """

    kind: str = "ppo"
    total_decisions: int = 400_000  # length of the training, over all environments; 0 saves the untrained network
    rollout_decisions: int = 4096  # decisions between two updates, as many whole episodes as come closest to it
    overlap: bool = True  # play the next batch while learning from this one, with the policy of one update ago
    sequence_length: int = 64  # decisions the gradient flows back through
    epochs: int = 4  # passes over a rollout
    minibatches: int = 4  # gradient steps in a pass
    hidden: int = 8  # recurrent units of the policy, 1 to 16
    blind: list[str] = field(default_factory=list)  # inputs that the policy does not see, such as [rtt_gradient]
    recurrent: bool = True  # whether the policy remembers; without, it decides by the newest inputs alone
    critic_units: int = 64  # units of each layer of the critic, which only training sees
    learning_rate: float = 3e-3  # Adam, policy; falls linearly to zero at the end of training
    critic_learning_rate: float = 1e-3  # Adam, critic; falls in the same way
    gamma: float = 0.98  # discount per decision, which is a round trip: looks about 1 / (1 - gamma) of them ahead
    gae_lambda: float = 0.95  # weight of measured over estimated returns in the advantage
    clip: float = 0.2  # largest change of a decision's probability ratio that is rewarded
    target_kl: float = 0.02  # an update ends early when the policy has moved further than 1.5 times this, in nats
    entropy: float = 0.0  # weight of the exploration bonus
    gradient_limit: float = 0.5  # largest norm of the gradient, policy and critic each
    initial_std: float = 0.3  # exploration at the start, in units of the action (log2 of the factor on cwnd)
    final_std: float = 0.1  # most exploration left at the end; in between the limit falls geometrically
    minimum_std: float = 0.02  # least exploration at any time
    bound: float = 0.1  # weight of the penalty on mean actions outside [-1, 1], where they would be clamped
    weight_limit: float = 8.0  # largest magnitude of a policy weight, so that int16 keeps 12 fraction bits
    quantization_aware: bool = False  # learn through the rounding of the export, not only through play
    value_rate: float = 0.05  # how fast the critic's normalisation follows the returns, per rollout
    snapshot_every: int = 10  # updates between two snapshots of the policy, for profiles that have it as a rival
    snapshots: int = 5  # that are kept: the newest
    start: str | None = None  # run folder of PPO whose policy and critic it starts with; else new networks
    imitate: str | None = None  # a recording of experts (python -m training.experts) to begin with
    imitate_best: bool = True  # of several experts on an episode, only the one with the highest reward
    imitate_steps: int = 3000  # gradient steps on the recording, at most; it ends earlier where they gain no more

    def __post_init__(self) -> None:
        for name in POSITIVE:
            if not getattr(self, name) > 0:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must be above 0")
        for name in ("total_decisions", "entropy", "bound"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must not be negative")
        for name in ("gamma", "gae_lambda", "value_rate"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"algo.{name} is {getattr(self, name)}; it must be above 0 and at most 1")
        check_inputs(self.blind)
        if self.start is not None and self.imitate is not None:
            raise ValueError(f"algo.start is {self.start} and algo.imitate {self.imitate}; it begins with one of them")
        if self.minimum_std > min(self.initial_std, self.final_std):
            raise ValueError(f"algo.minimum_std is {self.minimum_std}; it must not be above initial_std or final_std")


class Behaviour(NamedTuple):
    """What decides: a policy's weights (its state dict) and the exploration around its mean actions."""

    policy: dict[str, Tensor]
    log_std: Tensor  # [A]


@dataclass
class Spread:
    """The root of the mean square of numbers, over batches that fade."""

    square: float = 0.0
    weight: float = 0.0

    def follow(self, numbers: Tensor, rate: float) -> None:
        """Take in a batch of any shape."""
        self.weight += rate * (1 - self.weight)
        self.square += rate * (float(numbers.square().mean()) - self.square)

    @property
    def root(self) -> float:
        """Of the mean square; above 0."""
        return math.sqrt(max(self.square / self.weight, 1e-12))


class Ppo:
    """The learner: networks, optimizer and how far it has come.

    Arguments: ``options``; ``seed`` of weights and minibatches; ``privileged``, P,
    how many numbers only the critic knows.
    """

    def __init__(self, options: PpoOptions, seed: int, privileged: int) -> None:
        torch.manual_seed(seed)
        random.seed(seed)
        self.options = options
        self.rng = np.random.default_rng(seed)
        self.decisions = 0
        self.spreads: dict[str, Spread] = {}
        self.policy = Policy(options.hidden, options.blind, options.recurrent)
        self.log_std = nn.Parameter(torch.full((len(ACTIONS),), float(np.log(options.initial_std))))
        self.critic = Critic(privileged, options.critic_units)
        self.optimizer = torch.optim.Adam(
            [
                {"params": [*self.policy.parameters(), self.log_std], "lr": options.learning_rate},
                {"params": list(self.critic.parameters()), "lr": options.critic_learning_rate},
            ],
            eps=1e-5,
            fused=True,  # one call for all tensors, which are small
        )

    def behaviour(self) -> Behaviour:
        """Return a copy of what decides now."""
        weights = {name: tensor.detach().clone() for name, tensor in self.policy.state_dict().items()}
        return Behaviour(weights, self.log_std.detach().clone())

    # ---- judge ----

    @torch.no_grad()
    def advantages(self, episodes: Sequence[Trajectory]) -> tuple[Tensor, Tensor, Tensor]:
        """Ask the critic about every observation.

        Returns advantages and returns [L, E], zero behind the end of an episode, and the critic's inputs [L + 1, E, I].
        """
        options = self.options
        lengths = torch.tensor([len(episode.rewards) for episode in episodes])  # [E]
        longest = int(lengths.max())
        inputs = self.critic.inputs(
            _padded([episode.observations for episode in episodes]),
            _padded([episode.privileged for episode in episodes]),
        )
        values = self.critic(inputs) * self.critic.scale + self.critic.shift  # [L + 1, E]
        rewards = _padded([episode.rewards for episode in episodes])  # [L, E]
        deltas = rewards + options.gamma * values[1:] - values[:-1]
        deltas[torch.arange(longest)[:, None] >= lengths] = 0  # padding
        advantages = torch.zeros(longest, len(episodes))
        following = torch.zeros(len(episodes))
        for t in reversed(range(longest)):
            following = deltas[t] + options.gamma * options.gae_lambda * following
            advantages[t] = following
        returns = advantages + values[:-1]
        returns[torch.arange(longest)[:, None] >= lengths] = 0
        return advantages, returns, inputs

    def _level(self, advantages: Tensor, played: Tensor, episodes: Sequence[Trajectory]) -> None:
        """Divide the advantages [L, E] of each part of the profile by their usual size there, in place.

        Luck is several times as large beside a rival as on an empty link, and so much smaller would the share of the
        latter in a gradient be: parts count by their weights in the profile (as tasks do in "Multi-task Deep
        Reinforcement Learning with PopArt", Hessel et al., 2019). played: [L, E], whether there is a decision.
        """
        for part in sorted({episode.component for episode in episodes}):
            column = torch.tensor([episode.component == part for episode in episodes])  # [E]
            spread = self.spreads.setdefault(part, Spread())
            spread.follow(advantages[played & column], self.options.value_rate)
            advantages[:, column] /= spread.root

    # ---- learn ----

    def update(self, episodes: Sequence[Trajectory], behaviour: Behaviour) -> dict[str, float]:
        """One PPO update from episodes that ``behaviour`` has played; returns the metrics ``losses/...``."""
        options = self.options
        self._anneal_rates()
        advantages, returns, inputs = self.advantages(episodes)
        observations = _padded([episode.observations[:-1] for episode in episodes])  # [L, E, D]
        actions = _padded([episode.actions for episode in episodes])  # [L, E, A]
        played = _padded([np.ones(len(episode.rewards), np.bool_) for episode in episodes])  # [L, E]
        decisions = int(played.sum())
        unexplained = float(advantages[played].var() / returns[played].var().clamp(min=1e-12))
        self.critic.follow(returns[played], options.value_rate)
        targets = (returns - self.critic.shift) / self.critic.scale
        self._level(advantages, played, episodes)
        advantages = (advantages - advantages[played].mean()) / (advantages[played].std() + 1e-8)
        with torch.no_grad():
            begun = (observations, torch.zeros(len(episodes), self.policy.hidden))  # with state [E, H]
            old_means = functional_call(self.policy, self._weights(behaviour.policy), begun)  # [L, E, A]
            old = gaussian_log_probability(actions, old_means, behaviour.log_std)  # [L, E]
            states, _ = self.policy.rnn(observations)  # [L, E, H], after each observation
            first_means, first_log_std = self.policy.readout(states), self.log_std.detach().clone()
            before = gaussian_log_probability(actions, first_means, first_log_std)  # [L, E]
            weights = (
                (before - old).exp().clamp(max=MAX_IMPORTANCE_WEIGHT)
            )  # [L, E], 1 where the policy is the one that played
            lag = (before - old)[played]
        at_bound = (old_means[played].abs() >= AT_BOUND).float().mean(0)  # [A]

        length = options.sequence_length
        starts = [(e, t) for e, episode in enumerate(episodes) for t in range(0, len(episode.rewards), length)]
        of = torch.tensor([e for e, _ in starts])  # [S], episode of each sequence
        first = torch.tensor([t for _, t in starts])  # [S], its first decision
        rows = (first + torch.arange(min(length, len(played)))[:, None]).clamp(max=len(played) - 1)  # [K, S]
        within = first + torch.arange(len(rows))[:, None] < played.sum(0)[of]  # [K, S]
        states = torch.where((first > 0)[:, None], states[first - 1, of], 0.0)  # [S, H], before the first observation
        observations = observations[rows, of]  # [K, S, D]
        rows, of = rows[within], of.expand_as(within)[within]  # [decisions], as what follows
        actions, first_means, before = actions[rows, of], first_means[rows, of], before[rows, of]
        advantages, targets, inputs = (weights * advantages)[rows, of], targets[rows, of], inputs[rows, of]
        number = torch.zeros_like(within, dtype=torch.long).masked_scatter(within, torch.arange(len(rows)))  # [K, S]

        parameters: dict[str, Tensor] = dict(self.policy.named_parameters())
        metrics: dict[str, list[float]] = {}
        moved = 0.0
        for _ in range(options.epochs):
            order = torch.from_numpy(self.rng.permutation(len(starts)))
            for batch in order.chunk(min(options.minibatches, len(starts))):
                mask = within[:, batch]  # [K, S]
                chosen = number[:, batch][mask]  # [decisions]
                inside = (observations[:, batch], states[batch])
                means = functional_call(self.policy, self._weights(parameters), inside)[mask]  # [decisions, A]
                now = gaussian_log_probability(actions[chosen], means, self.log_std)
                ratio = (now - before[chosen]).exp()
                advantage = advantages[chosen]
                gain = torch.min(ratio * advantage, ratio.clamp(1 - options.clip, 1 + options.clip) * advantage).mean()
                outside = (means.abs() - 1).clamp(min=0).square().mean()
                entropy = gaussian_entropy(self.log_std)
                value_loss = 0.5 * (self.critic(inputs[chosen]) - targets[chosen]).square().mean()
                loss = -gain + options.bound * outside - options.entropy * entropy + value_loss

                with torch.no_grad():
                    moved = float(gaussian_divergence(first_means[chosen], first_log_std, means, self.log_std))
                self.optimizer.zero_grad()
                loss.backward()
                for group in self.optimizer.param_groups:
                    nn.utils.clip_grad_norm_(group["params"], options.gradient_limit)
                self.optimizer.step()
                with torch.no_grad():
                    for weight in self.policy.parameters():
                        weight.clamp_(-options.weight_limit, options.weight_limit)
                    for name, value in {
                        "policy": -gain,
                        "value": value_loss,
                        "bound": outside,
                        "entropy": entropy,
                        "clip_fraction": ((ratio - 1).abs() > options.clip).float().mean(),
                    }.items():
                        metrics.setdefault(name, []).append(float(value))
                metrics.setdefault("kl", []).append(moved)
            if moved > 1.5 * options.target_kl:
                break
        self.decisions += decisions
        self._anneal_exploration()
        std = self.log_std.detach().exp()
        return {
            **{f"losses/{name}": float(np.mean(values)) for name, values in metrics.items()},
            "losses/lag_kl": float((lag.exp() - 1 - lag).mean()),  # http://joschu.net/blog/kl-approx.html
            "losses/explained_variance": 1 - unexplained,
            **{f"parts/{part}/luck": spread.root for part, spread in self.spreads.items() if part},
            "losses/learning_rate": float(self.optimizer.param_groups[0]["lr"]),
            "losses/gradient_steps": float(len(metrics["policy"])),
            **{f"losses/std_{action.name}": float(std[a]) for a, action in enumerate(ACTIONS)},
            **{f"losses/at_bound_{action.name}": float(at_bound[a]) for a, action in enumerate(ACTIONS)},
        }

    @property
    def done(self) -> float:
        """How much of the training is over, 0 to 1."""
        return min(1.0, self.decisions / max(1, self.options.total_decisions))

    def _weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights that decide: as they are, or rounded as the export does."""
        return as_exported(weights) if self.options.quantization_aware else weights

    def _anneal_rates(self) -> None:
        rates = (self.options.learning_rate, self.options.critic_learning_rate)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - self.done)

    def _anneal_exploration(self) -> None:
        """Keep the exploration within its limits, of which the upper one falls."""
        options = self.options
        most = options.initial_std ** (1 - self.done) * options.final_std**self.done
        with torch.no_grad():
            self.log_std.clamp_(float(np.log(options.minimum_std)), float(np.log(max(most, options.minimum_std))))

    # ---- remember ----

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to go on, as a checkpoint holds it (export/checkpoint.py)."""
        policy, log_std = self.behaviour()
        return {
            "policy": policy,
            "log_std": log_std,
            "critic": {name: tensor.detach().clone() for name, tensor in self.critic.state_dict().items()},
            "optimizer": copy.deepcopy(self.optimizer.state_dict()),
            "random_states": {
                "python": random.getstate(),
                "numpy": self.rng.bit_generator.state,
                "torch": torch.get_rng_state(),
            },
            "decisions": self.decisions,
            "spreads": {part: astuple(spread) for part, spread in self.spreads.items()},
        }

    def begin_with(self, state: dict[str, Any]) -> None:
        """Take the networks of another training's `state`, and nothing else: rates and exploration begin anew.

        Raises ValueError when they are not such as ``options`` say.
        """
        if "critic" not in state:
            raise ValueError("a run without a critic is none of PPO, with which alone algo.start can begin")
        try:
            self.policy.check_kept(state["policy"])
            self.policy.load_state_dict(state["policy"])
            self.critic.load_state_dict(state["critic"])
        except RuntimeError as error:
            raise ValueError(f"the checkpoint's networks do not fit this configuration: {error}") from error

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`. Raises ValueError when the networks are not such as ``options`` say."""
        self.begin_with(state)
        with torch.no_grad():
            self.log_std.copy_(state["log_std"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.decisions = state["decisions"]
        self.spreads = {part: Spread(*spread) for part, spread in state["spreads"].items()}
        states = state["random_states"]
        random.setstate(states["python"])
        self.rng.bit_generator.state = states["numpy"]
        torch.set_rng_state(states["torch"])


def _padded(pieces: Sequence[npt.NDArray[Any]]) -> Tensor:
    """Arrays [length, ...] of different lengths side by side, [longest, number of them, ...], filled up with zeros."""
    longest = max(len(piece) for piece in pieces)
    padded = np.zeros((longest, len(pieces), *pieces[0].shape[1:]), pieces[0].dtype)
    for column, piece in enumerate(pieces):
        padded[: len(piece), column] = piece
    return torch.from_numpy(padded)
