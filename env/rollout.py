"""Rollouts: whole episodes in which the policy decides in the lab's kernel, at the lab's full speed.

An episode is a pure function: the same model, snapshot, noise, configuration and seed give the same trajectories, to
the byte, in any lab. An interrupted episode is replayed with the same result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from env.lab import Lab, LabError, Record, RolloutPlan
from env.network.path import PACKET_BYTES, Path
from env.profile import RIVALS, EpisodeConfig
from env.profile.flows import GRACE_S, learner_flows, load_rivals, rival_flows
from env.reward import RewardWeights
from env.trajectory import Steps, Trajectory, trajectories

MODULES = tuple(filter(None, RIVALS.values()))  # that an episode may load
LOST_WINDOWS = 3  # nearly all of a window so many times larger than what path and buffer hold is lost
SMALL_WINDOW = 200  # packets: the kernel simulates every window up to here fast


class RolloutTask(NamedTuple):
    """An episode to run. It ends after `decisions` of all learners together, or after duration_s virtual seconds.

    model: file (export.formats.blob) of the policy, which decides for the learners. seed: of the network's randomness.
    noise: int16 [learner, decision, action], schema.ACTION_FRAC fraction bits, added to the actions; there is no noise
    beyond its end. snapshot: model file of the rivals that are snapshots; needed if the episode has any.
    skip_slow_start: learners, counted from 0 as they open, that skip slow start.
    """

    model: bytes
    episode_config: EpisodeConfig
    seed: int
    noise: npt.NDArray[np.int16]
    decisions: int
    duration_s: float
    snapshot: bytes = b""
    skip_slow_start: tuple[int, ...] = ()

    @property
    def packets(self) -> float:
        """Estimate of the packets that the path carries in the episode; the time to simulate it is proportional."""
        path = self.episode_config.path
        decisions = self.decisions / len(self.episode_config.learners)
        return min(self.duration_s, decisions * max(path.rtt_ms, 1.0) / 1e3) * path.rate_mbps


@dataclass(frozen=True)
class RolloutJob:
    """A job (env/pool/job.py) that runs an episode and computes its rewards.

    weights: of the reward, for an episode that has none of its own.
    """

    task: RolloutTask
    weights: RewardWeights
    timeout_s: ClassVar[None] = None

    @property
    def cost(self) -> float:
        """See env.pool.Job."""
        return self.task.packets

    def __call__(self, lab: Lab) -> list[Trajectory]:
        """Return the trajectories of the episode's learners. Raises env.lab.LabError."""
        return trajectories(run_episode(lab, self.task), self.task.episode_config, self.weights)


def run_episode(lab: Lab, task: RolloutTask) -> Steps:
    """Run one episode and return its record, rows of schema.STEP_DTYPE.

    Raises env.lab.LabError; ValueError when the episode has a snapshot among its rivals and the task has no model for
    it.
    """
    episode_config = task.episode_config
    if episode_config.has_snapshot and not task.snapshot:
        raise ValueError("the episode has a snapshot among its rivals, but the task has no model for it")
    # the guest ends the run; only flows that stall end by themselves
    end_s = task.duration_s + GRACE_S + max((other.start_s for other in episode_config.other_flows), default=0.0)
    learners = learner_flows(episode_config, end_s)
    load_rivals(lab, episode_config)
    # one observation more than decisions: the last one follows the last decision
    steps = task.decisions + len(learners)
    plan = RolloutPlan(
        task.model,
        task.noise,
        steps,
        task.duration_s,
        max_cwnd(episode_config.path),
        task.snapshot,
        task.skip_slow_start,
    )
    lab.begin_run(
        episode_config.path, [*learners, *rival_flows(episode_config, end_s)], end_s, seed=task.seed, plan=plan
    )
    record, reply = lab.receive(), lab.receive()
    if not isinstance(record, Record):
        raise LabError(f"the lab answered an episode with {reply!r}")
    return record.steps


def max_cwnd(path: Path) -> int:
    """Return the window, packets, beyond which an episode ends: several times what path and buffer hold.

    Nearly all of a larger window is lost, from which the policy learns nothing more. The kernel takes minutes for the
    recovery, because it looks at every packet in flight for each acknowledgement.
    """
    if path.topology == "loopback":
        return (1 << 32) - 1
    rates = [path.rate_mbps, *(step.rate_mbps for step in path.steps if step.rate_mbps)]
    bdp = max(rates) * 1e3 / 8 * max(path.rtt_ms + max(path.client_extra_rtt_ms, default=0.0), path.reference_rtt_ms)
    return LOST_WINDOWS * (math.ceil(bdp / PACKET_BYTES) + path.buffer_packets) + SMALL_WINDOW
