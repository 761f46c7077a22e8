"""REINFORCE: the policy gradient of whole episodes, with their mean return as the baseline.

Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning", 1992. This is a
complete learner of few lines: tests/lab/training/test_learners.py copies it to training/ and trains with it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from env.options import option
from env.schema import ACTIONS
from training.learner import Progress
from training.metrics import Metric
from training.options import LearnerOptions, TrainConfig
from training.policy import gaussian_log_probability, initial_policy
from training.sampling.rollout_sampler import BehaviourPolicy, Sample


@dataclass
class ReinforceOptions(LearnerOptions):
    """Options of REINFORCE: ``algo.<name>=`` on the command line."""

    kind: str = "reinforce"
    overlap: bool = option(False, "run the next batch during an update; its gradient is then of the policy before it")
    hidden: int = option(8, "recurrent units of the policy, 1 to 32")
    learning_rate: float = option(3e-3, "Adam's")
    std: float = option(0.2, "exploration")


class Reinforce:
    """The learner: a policy, and one gradient step per batch."""

    OPTIONS = ReinforceOptions
    TITLE = "REINFORCE"
    METRICS = (Metric("losses/policy_loss", "", "log probability times advantage, negated"),)

    def __init__(self, options: ReinforceOptions, seed: int) -> None:
        self.options = options
        self.decisions = 0
        self.warnings: Sequence[str] = ()
        self.policy = initial_policy(options.hidden, seed)
        self.log_std = torch.full((len(ACTIONS),), math.log(options.std))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), options.learning_rate, fused=True)

    @classmethod
    def build(cls, config: TrainConfig) -> Reinforce:
        """See training.learner.Learner."""
        return cls(_options(config), config.seed)

    def begin(self) -> None:
        """See training.learner.Learner."""

    @property
    def progress(self) -> Progress:
        """See training.learner.Learner."""
        return Progress(self.decisions, self.options.total_decisions)

    @property
    def policy_weights(self) -> dict[str, Tensor]:
        """See training.learner.Learner."""
        return {name: tensor.detach().clone() for name, tensor in self.policy.state_dict().items()}

    def behaviour(self) -> BehaviourPolicy:
        """Return a copy of the policy, with its exploration."""
        return BehaviourPolicy(self.policy_weights, self.log_std)

    def update(self, sample: Sample) -> dict[str, float]:
        """Take one gradient step on a batch of trajectories; returns metrics."""
        rewards = [torch.from_numpy(episode.rewards) for episode in sample.episodes]  # [L] each
        returns = [of_episode.flip(0).cumsum(0).flip(0) for of_episode in rewards]
        baseline, scale = torch.cat(returns).mean(), torch.cat(returns).std() + 1e-8
        losses = []
        for episode, to_go in zip(sample.episodes, returns, strict=True):
            observations = torch.from_numpy(episode.observations[:-1])[:, None]  # [L, 1, D]
            means = self.policy(observations, torch.zeros(1, self.policy.hidden))[:, 0]  # [L, A]
            log_prob = gaussian_log_probability(torch.from_numpy(episode.actions), means, self.log_std)  # [L]
            losses.append(-(log_prob * (to_go - baseline) / scale))
        loss = torch.cat(losses).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.optimizer.step()
        self.decisions += sample.decisions
        return {"losses/policy_loss": float(loss)}

    def state(self) -> dict[str, Any]:
        """See training.learner.Learner."""
        learner = {"optimizer": copy.deepcopy(self.optimizer.state_dict())}
        return {"policy": self.policy_weights, "decisions": self.decisions, "learner": learner}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See training.learner.Learner."""
        self.policy.load_state_dict(saved["policy"])
        self.optimizer.load_state_dict(saved["learner"]["optimizer"])
        self.decisions = saved["decisions"]


LEARNER = Reinforce


def _options(config: TrainConfig) -> ReinforceOptions:
    assert isinstance(config.algo, ReinforceOptions)
    return config.algo
