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
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from env.profile import SNAPSHOT, own_rivals
from env.reward import TERMS
from env.trajectory import Trajectory
from export.formats.model_file import model_file
from training.metrics import Metric
from training.options import TrainConfig
from training.sampling.rollouts import RolloutWorkers, SamplingState

# Means over a batch of the environment's info, weighted by the length of the interval.
MEASURED = ("goodput_mbps", "goodput_share", "rtt_ms", "queueing_delay_ms", "loss_rate", "cwnd")
MEASURED_PER_COMPONENT = ("goodput_share", "queueing_delay_ms")

METRICS = (
    Metric("charts/reward", "", "mean reward of a decision"),
    Metric("charts/episodic_return", "", "mean sum of the rewards of an episode"),
    *(
        Metric(f"charts/reward_{name}", "", f"weighted term of the reward: {term['help']}")
        for name, term in TERMS.items()
    ),
    Metric("charts/goodput_mbps", "Mbit/s", "goodput"),
    Metric("charts/goodput_share", "", "goodput over the reference goodput of the path"),
    Metric("charts/rtt_ms", "ms", "mean RTT"),
    Metric("charts/queueing_delay_ms", "ms", "mean RTT above the RTT without a queue"),
    Metric("charts/loss_rate", "", "retransmitted packets over sent packets"),
    Metric("charts/cwnd", "packets", "congestion window"),
    Metric("charts/policy_share", "", "share of the wall time spent on quantizing the policy and drawing episodes"),
    Metric("components/NAME/reward", "", "mean reward of a decision in a mixture component of the profile"),
    Metric("components/NAME/goodput_share", "", "`charts/goodput_share` of a mixture component"),
    Metric("components/NAME/queueing_delay_ms", "ms", "`charts/queueing_delay_ms` of a mixture component"),
)


class BehaviourPolicy(NamedTuple):
    """The policy that acts in a batch: its weights (a state dict) and the exploration around its mean actions."""

    weights: dict[str, Tensor]
    log_std: Tensor  # [A]


class Sample(NamedTuple):
    """One batch: its trajectories, the policy that acted, and the numbers that the loop reports."""

    episodes: list[Trajectory]
    behaviour: BehaviourPolicy
    decisions: int
    virtual_s: float
    metrics: dict[str, float]


class Batch(NamedTuple):
    """A batch that the lab runs: its number, the policy that acts, and the state that its episodes are drawn from."""

    number: int
    behaviour: BehaviourPolicy
    sampling_state: SamplingState


class RolloutSampler:
    """Runs batches of rollouts, in the order of submission, with snapshots of earlier policies among the rivals.

    workers: run the batches. modules: files of the kernel modules that the labs load besides
    env.lab.virtual.ALWAYS_LOADED; the run's card has their hashes.
    """

    def __init__(self, config: TrainConfig, workers: RolloutWorkers) -> None:
        profile = config.profile
        self.workers = workers
        self.modules = tuple(str(rival.module.file) for rival in own_rivals(profile))
        self._options, self._profile = config.algo, profile
        self._has_snapshots = any(SNAPSHOT in component.rivals for component in profile.paths.values())
        self._snapshots: tuple[bytes, ...] = ()  # model files, the newest last
        self._next = 0  # number of the next batch
        self._under_way: deque[Batch] = deque()  # submitted and not yet taken

    @property
    def updates(self) -> int:
        """Number of batches that have been taken."""
        return self._next - len(self._under_way)

    def submit(self, behaviour: BehaviourPolicy, share: float) -> None:
        """Start batches in which `behaviour` acts, until one batch, or two with overlap, is under way.

        Returns at once. share: of the training that is done, 0 to 1.
        """
        skip_prob = self._profile.skip_slow_start_prob
        if skip_prob and share < self._options.skip_slow_start_until:
            skip_prob = 1.0
        sampling_state = SamplingState(self._snapshots, skip_prob)
        while len(self._under_way) <= self._options.overlap:
            self._start(Batch(self._next, behaviour, sampling_state))
            self._next += 1

    def _start(self, batch: Batch) -> None:
        self._under_way.append(batch)
        self.workers.submit(batch.behaviour.weights, batch.behaviour.log_std, batch.number, batch.sampling_state)

    def take(self, should_stop: Callable[[], bool]) -> Sample | None:
        """Wait for the oldest batch; None if `should_stop` returns true meanwhile. Raises env.lab.LabError."""
        episodes = self.workers.take(should_stop)
        if episodes is None:
            return None
        behaviour = self._under_way.popleft().behaviour
        decisions = sum(len(episode.rewards) for episode in episodes)
        return Sample(episodes, behaviour, decisions, virtual_s(episodes), describe(episodes))

    def observe(self, policy: Mapping[str, Tensor]) -> None:
        """Observe the policy, a state dict, after an update, and store a snapshot of it when one is due."""
        if self._has_snapshots and self.updates % self._options.snapshot_every == 0:
            file, _ = model_file(policy, f"update-{self.updates}", self._profile.name)
            self._snapshots = (*self._snapshots, file)[-self._options.snapshots :]

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as plain data and tensors for a checkpoint."""
        under_way = [
            {
                "number": batch.number,
                "policy": batch.behaviour.weights,
                "log_std": batch.behaviour.log_std,
                "sampling_state": batch.sampling_state.as_dict(),
            }
            for batch in self._under_way
        ]
        return {"next": self._next, "under_way": under_way, "snapshots": list(self._snapshots)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`: start the batches again that were under way."""
        self._snapshots = tuple(state["snapshots"])
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
