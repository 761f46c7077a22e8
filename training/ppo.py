"""Recurrent PPO: proximal policy optimisation with back-propagation through time, for a continuing task.

The whole learner is in this file, top to bottom, in the manner of CleanRL: options, metrics, then `Ppo.update`, which
is one update. Sampling is elsewhere: training/sampling/rollout_sampler.py.

Algorithm: PPO (Schulman et al., "Proximal Policy Optimization Algorithms", 2017) with generalised advantage estimation
(Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016). It differs from
CleanRL's `ppo_continuous_action.py` and `ppo_atari_lstm.py` in these points:

- A rollout is a list of whole episodes. An episode is one connection, and always ends by truncation, never by
  termination: the return bootstraps from the critic's value of the final observation.
- The policy that sampled a rollout may be one update old (``overlap``). The objective is the decoupled one of Hilton et
  al. ("Batch size-invariance for policy optimization", 2022): advantages are weighted by the importance ratio
  pi_current / pi_behaviour, capped at `MAX_IMPORTANCE_WEIGHT`, and the clipping is around the policy at the beginning
  of the update. Where both policies are the same, this is PPO's own objective.
- Policy and critic are separate networks, and the critic also observes what only training knows (training/policy.py).
- Advantages are divided by their running RMS per mixture component of the profile. Advantages are noisier on shared
  links; without per-component scaling these links would dominate the gradient.
- The exploration's standard deviation is learned, below a limit that decreases geometrically.

Letters of shapes: training/policy.py; L is the length of the longest episode, E the number of episodes.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.rnn import pad_sequence

from env.errors import UserError
from env.options import option
from env.privileged import PRIVILEGED
from env.schema import ACTIONS, HIDDEN_MAX
from env.trajectory import Trajectory
from export import checkpoint
from export.zoo import find_checkpoint
from training.learner import Progress
from training.metrics import Metric
from training.options import LearnerOptions, TrainConfig
from training.policy import (
    Critic,
    Policy,
    check_inputs,
    gaussian_divergence,
    gaussian_entropy,
    gaussian_log_probability,
)
from training.run_folder import alarms
from training.run_folder.alarms import Alarms
from training.sampling.rollout_sampler import BehaviourPolicy, Sample

AT_BOUND = 0.99  # magnitude from which a mean action counts as at its bound, 1
ADAM_EPSILON = 1e-5  # added to the root of the second moment, as in CleanRL
MAX_IMPORTANCE_WEIGHT = 2.0  # cap of the importance ratio pi_current / pi_behaviour


@dataclass
class PpoOptions(LearnerOptions):
    """Options of PPO: ``algo.<name>=`` on the command line. Raises UserError for a value outside its limits."""

    kind: str = "ppo"
    sequence_length: int = option(64, "decisions that the gradient flows back through", ge=1)
    epochs: int = option(4, "passes over a batch in an update", ge=1)
    minibatches: int = option(4, "gradient steps in a pass", ge=1)
    hidden: int = option(8, "recurrent units of the policy, 1 to 32", ge=1, le=HIDDEN_MAX)
    blind: list[str] = option([], "inputs that the policy does not see, such as [rtt_gradient]")
    recurrent: bool = option(True, "whether the policy has memory; false: it decides from the newest inputs alone")
    critic_units: int = option(64, "units of each hidden layer of the critic, which exists only in training", ge=1)
    learning_rate: float = option(
        3e-3, "Adam's, of the policy; decreases linearly to zero at the end of training", gt=0
    )
    critic_learning_rate: float = option(1e-3, "Adam's, of the critic; decreases in the same way", gt=0)
    gamma: float = option(
        0.98, "discount per decision, which is a round trip: a horizon of about 1 / (1 - gamma)", gt=0, le=1
    )
    gae_lambda: float = option(0.95, "weight of measured against estimated returns in the advantage", gt=0, le=1)
    clip: float = option(0.2, "largest change of a decision's probability ratio that the objective rewards", gt=0)
    target_kl: float = option(
        0.02, "an update ends early when the policy's KL divergence exceeds 1.5 times this, nats", gt=0
    )
    entropy: float = option(0.0, "weight of the entropy bonus", ge=0)
    gradient_limit: float = option(0.5, "largest norm of the gradient, of policy and critic each", gt=0)
    initial_std: float = option(0.3, "initial exploration, in units of the action (log2 of a factor)", gt=0)
    final_std: float = option(
        0.1, "upper limit of exploration at the end; in between the limit decreases geometrically", gt=0
    )
    minimum_std: float = option(0.02, "lower limit of exploration at any time", gt=0)
    bound: float = option(0.1, "weight of the penalty on mean actions outside [-1, 1], where they are clamped", ge=0)
    weight_limit: float = option(
        8.0, "largest magnitude of a policy weight, so that int16 keeps 12 fraction bits", gt=0
    )
    value_rate: float = option(0.05, "rate per update of the running statistics of returns and advantages", gt=0, le=1)
    start: str | None = option(
        None, "model of the zoo or run folder of PPO with the policy and critic to start from; default: new networks"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_inputs(self.blind)
        if self.minimum_std > min(self.initial_std, self.final_std):
            raise UserError(f"algo.minimum_std is {self.minimum_std}; it must not be above initial_std or final_std")


METRICS = (
    Metric("losses/policy_loss", "", "clipped objective, negated"),
    Metric("losses/value_loss", "", "half the squared error of the critic, of normalised returns"),
    Metric("losses/bound_loss", "", "squared excess of mean actions over [-1, 1]"),
    Metric("losses/entropy", "nats", "entropy of the exploration"),
    Metric(
        "losses/approx_kl",
        "nats",
        "KL divergence of the policy from the one at the update's beginning, mean over its steps",
    ),
    Metric(
        "losses/behaviour_kl",
        "nats",
        "KL divergence of the policy from the one that sampled the batch; 0 without `overlap`",
    ),
    Metric("losses/clipfrac", "", "share of decisions whose probability ratio was clipped"),
    Metric(
        "losses/explained_variance", "", "1 - variance of the advantages / variance of the returns; 1: a perfect critic"
    ),
    Metric("charts/learning_rate", "", "learning rate of the policy"),
    Metric("charts/gradient_steps", "", "gradient steps of the update, which `target_kl` may end early"),
    *(
        Metric(f"charts/std_{action.name}", "", f"exploration of {action.name}: standard deviation")
        for action in ACTIONS
    ),
    *(
        Metric(
            f"charts/at_bound_{action.name}",
            "",
            f"share of decisions whose mean {action.name} is at a bound, beyond {AT_BOUND}",
        )
        for action in ACTIONS
    ),
    Metric(
        "components/NAME/advantage_rms",
        "",
        "running RMS of the advantages of a mixture component: what the critic does not predict",
    ),
    *alarms.METRICS,
)


@dataclass
class RunningMeanSquare:
    """Exponential average of the mean square of batches, without the bias of the average's beginning."""

    mean_square: float = 0.0
    weight: float = 0.0

    def update(self, numbers: Tensor, rate: float) -> None:
        """Include a batch of any shape."""
        self.weight += rate * (1 - self.weight)
        self.mean_square += rate * (float(numbers.square().mean()) - self.mean_square)

    @property
    def rms(self) -> float:
        """The root of the mean square; above 0."""
        return math.sqrt(max(self.mean_square / self.weight, 1e-12))


class Ppo:
    """The learner: networks, optimizer and progress.

    seed: of weights and minibatches. privileged: P, the size of the privileged observation.
    """

    OPTIONS = PpoOptions
    TITLE = "PPO"
    METRICS = METRICS

    def __init__(self, options: PpoOptions, seed: int, privileged: int) -> None:
        torch.manual_seed(seed)
        random.seed(seed)
        self.options = options
        self.rng = np.random.default_rng(seed)
        self.decisions = 0
        self.warnings: Sequence[str] = ()
        self.advantage_rms: dict[str, RunningMeanSquare] = {}  # by mixture component
        self.policy = Policy(options.hidden, options.blind, options.recurrent)
        self.log_std = nn.Parameter(torch.full((len(ACTIONS),), float(np.log(options.initial_std))))
        self.critic = Critic(privileged, options.critic_units)
        self._alarms = Alarms(options.minimum_std)

    @cached_property
    def optimizer(self) -> torch.optim.Adam:
        """The optimizer, made when it is first needed: its class imports PyTorch's compiler, for about two seconds."""
        groups = [[*self.policy.parameters(), self.log_std], [*self.critic.parameters()]]
        return torch.optim.Adam([{"params": group} for group in groups], eps=ADAM_EPSILON, fused=True)

    @classmethod
    def build(cls, config: TrainConfig) -> Ppo:
        """See training.learner.Learner."""
        return cls(_options(config), config.seed, len(PRIVILEGED))

    def begin(self) -> None:
        """See training.learner.Learner: starts from algo.start."""
        if self.options.start:
            self.start_from(checkpoint.load(find_checkpoint(self.options.start)))

    @property
    def progress(self) -> Progress:
        """See training.learner.Learner."""
        return Progress(self.decisions, self.options.total_decisions)

    @property
    def policy_weights(self) -> dict[str, Tensor]:
        """See training.learner.Learner."""
        return {name: tensor.detach().clone() for name, tensor in self.policy.state_dict().items()}

    def behaviour(self) -> BehaviourPolicy:
        """Return a copy of the current policy and its exploration."""
        return BehaviourPolicy(self.policy_weights, self.log_std.detach().clone())

    # ---- advantages ----

    @torch.no_grad()
    def advantages(self, episodes: Sequence[Trajectory]) -> tuple[Tensor, Tensor, Tensor]:
        """Estimate the advantages of all decisions by GAE.

        Returns advantages and returns [L, E], zero behind the end of an episode, and the critic's inputs [L + 1, E, I].
        """
        options = self.options
        inputs = self.critic.inputs(
            _padded([episode.observations for episode in episodes]),
            _padded([episode.privileged for episode in episodes]),
        )
        values = self.critic(inputs) * self.critic.scale + self.critic.shift  # [L + 1, E]
        rewards = _padded([episode.rewards for episode in episodes])  # [L, E]
        padding = ~_decided(episodes)  # [L, E]
        deltas = rewards + options.gamma * values[1:] - values[:-1]
        deltas[padding] = 0
        advantages = torch.zeros_like(rewards)
        next_advantage = torch.zeros(len(episodes))
        for t in reversed(range(len(rewards))):
            next_advantage = deltas[t] + options.gamma * options.gae_lambda * next_advantage
            advantages[t] = next_advantage
        returns = advantages + values[:-1]
        returns[padding] = 0
        return advantages, returns, inputs

    def _normalize_components(self, advantages: Tensor, decided: Tensor, episodes: Sequence[Trajectory]) -> None:
        """Divide the advantages [L, E] of each mixture component by their running RMS, in place; decided: [L, E].

        Components then count by their weights in the profile (as tasks do in "Multi-task Deep Reinforcement Learning
        with PopArt", Hessel et al., 2019).
        """
        for component in sorted({episode.component for episode in episodes}):
            column = torch.tensor([episode.component == component for episode in episodes])  # [E]
            running = self.advantage_rms.setdefault(component, RunningMeanSquare())
            running.update(advantages[decided & column], self.options.value_rate)
            advantages[:, column] /= running.rms

    # ---- one update ----

    def update(self, sample: Sample) -> dict[str, float]:
        """Run one PPO update on a batch of trajectories; returns metrics."""
        episodes = sample.episodes
        behaviour = sample.behaviour
        options = self.options
        self._anneal_learning_rates()

        # Advantages and the critic's targets
        advantages, returns, inputs = self.advantages(episodes)
        observations = _padded([episode.observations[:-1] for episode in episodes])  # [L, E, D]
        actions = _padded([episode.actions for episode in episodes])  # [L, E, A]
        decided = _decided(episodes)  # [L, E]
        unexplained = float(advantages[decided].var() / returns[decided].var().clamp(min=1e-12))
        self.critic.update_normalization(returns[decided], options.value_rate)
        targets = (returns - self.critic.shift) / self.critic.scale
        self._normalize_components(advantages, decided, episodes)
        advantages = (advantages - advantages[decided].mean()) / (advantages[decided].std() + 1e-8)

        # Importance weights: the policy at the beginning of the update against the one that sampled
        with torch.no_grad():
            from_zero_state = (observations, torch.zeros(len(episodes), self.policy.hidden))
            behaviour_means = functional_call(self.policy, behaviour.weights, from_zero_state)  # [L, E, A]
            behaviour_log_prob = gaussian_log_probability(actions, behaviour_means, behaviour.log_std)  # [L, E]
            states, _ = self.policy.rnn(observations)  # [L, E, H], after each observation
            old_means, old_log_std = self.policy.readout(states), self.log_std.detach().clone()
            old_log_prob = gaussian_log_probability(actions, old_means, old_log_std)  # [L, E]
            log_importance_ratio = old_log_prob - behaviour_log_prob  # [L, E], 0 where both policies are the same
            advantages = log_importance_ratio.exp().clamp(max=MAX_IMPORTANCE_WEIGHT) * advantages
        log_importance_ratio = log_importance_ratio[decided]
        at_bound = (behaviour_means[decided].abs() >= AT_BOUND).float().mean(0)  # [A]

        # Sequences of K decisions, S in all, each with the state that the policy has before it
        lengths = [len(episode.rewards) for episode in episodes]

        def in_sequences(padded: Tensor) -> Tensor:
            """[L, E, ...] to [K, S, ...]."""
            pieces = zip(padded.unbind(1), lengths, strict=True)
            return pad_sequence(
                [part for piece, n in pieces for part in torch.split(piece[:n], options.sequence_length)]
            )

        states = in_sequences(torch.cat((torch.zeros_like(states[:1]), states[:-1])))[0]  # [S, H]
        observations, decided = in_sequences(observations), in_sequences(decided)
        places = torch.arange(decided.numel()).view_as(decided)  # [K, S], of the decisions in the tensors below
        actions, advantages, targets, inputs, old_means, old_log_prob = (
            in_sequences(padded).flatten(0, 1)
            for padded in (actions, advantages, targets, inputs[:-1], old_means, old_log_prob)
        )  # [K S, ...]

        metrics: dict[str, list[float]] = {}
        approx_kl = 0.0
        for _ in range(options.epochs):
            order = torch.from_numpy(self.rng.permutation(len(states)))
            for batch in order.chunk(min(options.minibatches, len(states))):
                mask = decided[:, batch]  # [K, S]
                chosen = places[:, batch][mask]  # [decisions], as all that follows
                at_start = (observations[:, batch], states[batch])
                means = self.policy(*at_start)
                means = means.flatten(0, 1).index_select(0, mask.flatten().nonzero().squeeze(1))
                log_prob = gaussian_log_probability(actions[chosen], means, self.log_std)
                ratio = (log_prob - old_log_prob[chosen]).exp()
                advantage = advantages[chosen]
                clipped = ratio.clamp(1 - options.clip, 1 + options.clip)
                policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                bound_loss = (means.abs() - 1).clamp(min=0).square().mean()
                entropy = gaussian_entropy(self.log_std)
                value_loss = 0.5 * (self.critic(inputs[chosen]) - targets[chosen]).square().mean()
                loss = policy_loss + options.bound * bound_loss - options.entropy * entropy + value_loss

                with torch.no_grad():
                    approx_kl = float(gaussian_divergence(old_means[chosen], old_log_std, means, self.log_std))
                self.optimizer.zero_grad()
                loss.backward()
                for group in self.optimizer.param_groups:
                    nn.utils.clip_grad_norm_(group["params"], options.gradient_limit)
                self.optimizer.step()
                with torch.no_grad():
                    for weight in self.policy.parameters():
                        weight.clamp_(-options.weight_limit, options.weight_limit)
                    for name, value in {
                        "policy_loss": policy_loss,
                        "value_loss": value_loss,
                        "bound_loss": bound_loss,
                        "entropy": entropy,
                        "clipfrac": ((ratio - 1).abs() > options.clip).float().mean(),
                    }.items():
                        metrics.setdefault(name, []).append(float(value))
                metrics.setdefault("approx_kl", []).append(approx_kl)
            if approx_kl > 1.5 * options.target_kl:
                break
        self.decisions += sum(lengths)
        self._limit_exploration()

        std = self.log_std.detach().exp()
        summary = {
            **{f"losses/{name}": float(np.mean(values)) for name, values in metrics.items()},
            # the low-variance estimator of http://joschu.net/blog/kl-approx.html
            "losses/behaviour_kl": float((log_importance_ratio.exp() - 1 - log_importance_ratio).mean()),
            "losses/explained_variance": 1 - unexplained,
            **{f"components/{name}/advantage_rms": running.rms for name, running in self.advantage_rms.items() if name},
            "charts/learning_rate": self.optimizer.param_groups[0]["lr"],
            "charts/gradient_steps": float(len(metrics["policy_loss"])),
            **{f"charts/std_{action.name}": float(std[a]) for a, action in enumerate(ACTIONS)},
            **{f"charts/at_bound_{action.name}": float(at_bound[a]) for a, action in enumerate(ACTIONS)},
        }
        summary |= self._alarms.update(summary)
        self.warnings = self._alarms.warnings
        return summary

    def _anneal_learning_rates(self) -> None:
        rates = (self.options.learning_rate, self.options.critic_learning_rate)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - self.progress.share)

    def _limit_exploration(self) -> None:
        """Clamp the exploration between its limits; the upper limit decreases."""
        options, share = self.options, self.progress.share
        maximum = options.initial_std ** (1 - share) * options.final_std**share
        with torch.no_grad():
            self.log_std.clamp_(float(np.log(options.minimum_std)), float(np.log(max(maximum, options.minimum_std))))

    # ---- checkpoint ----

    def state(self) -> dict[str, Any]:
        """See training.learner.Learner."""
        policy, log_std = self.behaviour()
        return {
            "policy": policy,
            "decisions": self.decisions,
            "learner": {
                "log_std": log_std,
                "critic": {name: tensor.detach().clone() for name, tensor in self.critic.state_dict().items()},
                "optimizer": copy.deepcopy(self.optimizer.state_dict()),
                "random_states": {
                    "python": random.getstate(),
                    "numpy": self.rng.bit_generator.state,
                    "torch": torch.get_rng_state(),
                },
                "advantage_rms": {name: astuple(running) for name, running in self.advantage_rms.items()},
            },
        }

    def start_from(self, saved: Mapping[str, Any]) -> None:
        """Copy policy and critic from another training's `state`; learning rates and exploration begin anew.

        Raises UserError when the networks do not fit the options.
        """
        if "critic" not in saved["learner"]:
            raise UserError("algo.start names a run without a critic; PPO starts only from a run of PPO")
        try:
            self.policy.check_masked(saved["policy"])
            self.policy.load_state_dict(saved["policy"])
            self.critic.load(saved["learner"]["critic"])
        except RuntimeError as error:
            units = f"algo.hidden={len(saved['policy']['rnn.bias_hh_l0'])} and algo.critic_units="
            raise UserError(
                f"the checkpoint's networks do not fit this configuration: they have {units}"
                f"{len(saved['learner']['critic']['body.0.bias'])}, and a training keeps these"
            ) from error

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See training.learner.Learner."""
        self.start_from(saved)
        learner = saved["learner"]
        with torch.no_grad():
            self.log_std.copy_(learner["log_std"])
        moments = {"state": learner["optimizer"]["state"]}  # the groups are those of the options
        self.optimizer.load_state_dict(self.optimizer.state_dict() | moments)
        self.decisions = saved["decisions"]
        self.advantage_rms = {name: RunningMeanSquare(*values) for name, values in learner["advantage_rms"].items()}
        states = learner["random_states"]
        random.setstate(states["python"])
        self.rng.bit_generator.state = states["numpy"]
        torch.set_rng_state(states["torch"])


LEARNER = Ppo


def _options(config: TrainConfig) -> PpoOptions:
    assert isinstance(config.algo, PpoOptions)
    return config.algo


def _padded(arrays: Sequence[npt.NDArray[Any]]) -> Tensor:
    """Arrays [length, ...] of different lengths to one tensor [longest, number of arrays, ...], padded with zeros."""
    return pad_sequence([torch.from_numpy(array) for array in arrays])


def _decided(episodes: Sequence[Trajectory]) -> Tensor:
    """Return where there is a decision, not padding, [L, E]."""
    return pad_sequence([torch.ones(len(episode.rewards), dtype=torch.bool) for episode in episodes])
