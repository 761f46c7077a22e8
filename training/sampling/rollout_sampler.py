"""Samples batches of rollouts for a learner, with snapshots of its policy, and computes their metrics.

With ``overlap`` the lab runs the next batch while the learner updates, always with the policy of one update ago,
however long either takes. Batch k therefore depends only on the seed and on the updates before it, and a resumed
training repeats its unfinished batches with the same result.

If some connections of a profile skip slow start (profile.skip_slow_start_prob), all connections skip it in the first
part of a training. Otherwise slow start opens the window, and the policy learns late to open it by itself
(docs/results/history.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from env.options import option
from env.profile import own_rivals
from env.reward import TERMS
from env.trajectory import Trajectory
from training.learner import Sample
from training.metrics import OUTCOME_METRICS, Metric
from training.options import LearnerOptions, TrainConfig
from training.sampling.rollouts import RolloutWorkers, SamplingState
from training.sampling.snapshots import Snapshots

# Means over a batch of the environment's info, weighted by the length of the interval.
MEASURED = ("goodput_mbps", "goodput_share", "rtt_ms", "queueing_delay_ms", "loss_rate", "cwnd")
MEASURED_PER_COMPONENT = ("goodput_share", "queueing_delay_ms")

METRICS = (
    Metric("charts/reward", "", "mean reward of a decision"),
    Metric("charts/episodic_return", "", "mean sum of the rewards of an episode"),
    *OUTCOME_METRICS,
    Metric("charts/cwnd", "packets", "congestion window"),
    Metric("charts/policy_share", "", "share of the wall time spent on quantizing the policy and drawing episodes"),
    Metric("components/NAME/reward", "", "mean reward of a decision in a mixture component of the profile"),
    Metric("components/NAME/goodput_share", "", "`charts/goodput_share` of a mixture component"),
    Metric("components/NAME/queueing_delay_ms", "ms", "`charts/queueing_delay_ms` of a mixture component"),
)


@dataclass
class RolloutOptions(LearnerOptions):
    """Options of every learner that has a RolloutSampler."""

    total_decisions: int = option(400_000, "decisions of the whole training; 0 saves the untrained network", ge=0)
    rollout_decisions: int = option(4096, "decisions of a batch; as many whole episodes as reach this number", ge=1)
    overlap: bool = option(True, "run the next batch during an update, with the policy of one update ago")
    skip_slow_start_until: float = option(
        0.65,
        "share of the training in which all connections skip slow start, if the profile has some that do",
        ge=0,
        le=1,
    )
    snapshot_every: int = option(
        10, "updates from one snapshot of the policy to the next, for rivals that are snapshots", ge=1
    )
    snapshots: int = option(5, "number of snapshots that are stored, the newest", ge=1)


class BehaviourPolicy(NamedTuple):
    """The policy that acts in a batch: its weights (a state dict) and the exploration around its mean actions."""

    weights: dict[str, Tensor]
    log_std: Tensor  # [A]


class Batch(NamedTuple):
    """A batch that the lab runs: its number, the policy that acts, and the state that its episodes are drawn from."""

    number: int
    behaviour: BehaviourPolicy
    sampling_state: SamplingState


class RolloutSampler:
    """Batches of rollouts, one after the other, with their snapshots.

    config: its algo is RolloutOptions. workers: run the batches.
    """

    warnings: Sequence[str] = ()

    def __init__(self, config: TrainConfig, workers: RolloutWorkers) -> None:
        options = config.algo
        assert isinstance(options, RolloutOptions)
        self._workers = workers
        self._skip_prob, self._skip_until = config.profile.skip_slow_start_prob, options.skip_slow_start_until
        self._snapshots = Snapshots(config.profile, options.snapshot_every, options.snapshots)
        self._modules = tuple(str(rival.module.file) for rival in own_rivals(config.profile))
        self._ahead = int(options.overlap)
        self._next = 0  # number of the next batch
        self._under_way: deque[Batch] = deque()  # submitted and not yet taken

    @property
    def workers(self) -> int:
        """See training.learner.Sampler."""
        return self._workers.workers

    @property
    def modules(self) -> tuple[str, ...]:
        """See training.learner.Sampler."""
        return self._modules

    @property
    def seconds(self) -> Mapping[str, float]:
        """See training.learner.Sampler."""
        return self._workers.seconds

    @property
    def updates(self) -> int:
        """Number of batches that have been taken."""
        return self._next - len(self._under_way)

    def submit(self, behaviour: BehaviourPolicy, share: float) -> None:
        """Start batches in which `behaviour` acts, until one batch, or two with overlap, is under way."""
        skip_prob = 1.0 if self._skip_prob and share < self._skip_until else self._skip_prob
        sampling_state = SamplingState(self._snapshots.files, skip_prob)
        while len(self._under_way) <= self._ahead:
            self._start(Batch(self._next, behaviour, sampling_state))
            self._next += 1

    def _start(self, batch: Batch) -> None:
        self._under_way.append(batch)
        self._workers.submit(batch.behaviour.weights, batch.behaviour.log_std, batch.number, batch.sampling_state)

    def take(self, should_stop: Callable[[], bool]) -> Sample | None:
        """See training.learner.Sampler. The sample's data is a list of trajectories."""
        episodes = self._workers.take(should_stop)
        if episodes is None:
            return None
        behaviour = self._under_way.popleft().behaviour
        decisions = sum(len(episode.rewards) for episode in episodes)
        return Sample(episodes, behaviour, decisions, virtual_s(episodes), describe(episodes))

    def observe(self, policy: Mapping[str, Tensor]) -> None:
        """See training.learner.Sampler. Takes snapshots of the policy."""
        self._snapshots.observe(self.updates, policy)

    def state(self) -> dict[str, Any]:
        """See training.learner.Sampler."""
        under_way = [
            {
                "number": batch.number,
                "policy": batch.behaviour.weights,
                "log_std": batch.behaviour.log_std,
                "sampling_state": batch.sampling_state.as_dict(),
            }
            for batch in self._under_way
        ]
        return {
            "next": self._next,
            "under_way": under_way,
            "snapshots": self._snapshots.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See training.learner.Sampler. Starts the batches again that were under way."""
        self._snapshots.restore(state["snapshots"])
        self._next = state["next"]
        for batch in state["under_way"]:
            behaviour = BehaviourPolicy(batch["policy"], batch["log_std"])
            self._start(Batch(batch["number"], behaviour, SamplingState.from_dict(batch["sampling_state"])))


def describe(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """Return the metrics of a batch, as the environment measured it."""
    rewards = np.concatenate([episode.rewards for episode in episodes])
    metrics = {
        "charts/reward": float(rewards.mean()),
        "charts/episodic_return": float(np.mean([episode.rewards.sum() for episode in episodes])),
    }
    for name in TERMS:
        metrics[f"charts/reward_{name}"] = float(_info(episodes, f"reward/{name}").mean())
    metrics |= {f"charts/{name}": mean for name, mean in _interval_means(episodes, MEASURED).items()}
    for component in sorted({episode.component for episode in episodes} - {""}):
        drawn = [episode for episode in episodes if episode.component == component]
        metrics[f"components/{component}/reward"] = float(np.concatenate([e.rewards for e in drawn]).mean())
        means = _interval_means(drawn, MEASURED_PER_COMPONENT)
        metrics |= {f"components/{component}/{name}": mean for name, mean in means.items()}
    return metrics


def _info(episodes: Sequence[Trajectory], name: str) -> np.ndarray:
    """Return an info of all episodes, [decisions]."""
    return np.concatenate([episode.infos[name] for episode in episodes])


def _interval_means(episodes: Sequence[Trajectory], names: Sequence[str]) -> dict[str, float]:
    """Return the means of these infos, weighted by the length of the interval."""
    weights = _info(episodes, "interval_us")
    return {name: float(np.average(_info(episodes, name), weights=weights)) for name in names}


def virtual_s(episodes: Sequence[Trajectory]) -> float:
    """Return the virtual seconds of all episodes together."""
    return sum(float(episode.infos["interval_us"].sum()) for episode in episodes) / 1e6
