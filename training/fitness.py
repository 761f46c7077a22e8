"""What a run was worth: the reward of env/reward.py, over stretches of a second in place of intervals. Pure functions.

A flow under test is cut into stretches of about a second, and each is judged as an interval would be, against the fair
share of what the path carried in it (env/reference.py): so a flow that begins late, a link that changes and learners
that take turns are judged for what they are. Its fitness is the mean, slow start included. The run's fitness is the
mean over its flows under test. In a second the receiver's bytes may stand for what was delivered: what waited behind a
hole has mostly come through.

A connection that the module's guard has taken away from the policy and given to Reno (kernel/ndm/ndm_guard.h) shows
what Reno does, so its run ends there: nothing is delivered from then on, and each one costs `guard_penalty` besides.

Paths differ in how much a policy can win or lose on them, so sums over paths would let the few with the widest spread
decide. On each path all candidates of a generation meet the same random numbers, and only their ranks there count
(`scores`): every path has the same say.

Letters of shapes: C candidates, P paths of a generation, W stretches of a flow, N samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from env.lab import FlowResult
from env.profile import EpisodeConfig, EpisodeFlow
from env.reference import FlowReference
from env.reward import Measured, Outcome, Reference, RewardWeights, compute_reward

Floats = npt.NDArray[np.float64]

STRETCH_S = 1.0
PARTS = 10  # of a stretch, in which what the path carries is looked at


def flow_reward(
    flow: FlowResult,
    episode_config: EpisodeConfig,
    learner: EpisodeFlow,
    duration_s: float,
    weights: RewardWeights,
) -> Outcome:
    """Return what a flow was worth, one number [W] of each kind for a stretch.

    flow: of a run's result with samples (docs/reference/file-formats.md). learner: of the episode, whose flow it
    is. duration_s: of the run. A stretch without an RTT sample has the RTT of the one before it.

    Raises ValueError for a flow without samples.
    """
    sender, receiver = flow.sender, flow.receiver
    if not len(sender) or not len(receiver):
        raise ValueError(f"the flow of {flow.scheme} has no samples; its run was made without sample_ms")
    length_s = duration_s - learner.start_s
    edges_s = learner.start_s + np.linspace(0.0, length_s, max(1, round(length_s / STRETCH_S)) + 1)  # [W + 1]
    retransmitted = _gained(sender["t_s"], sender["retransmits"], edges_s)
    sent = _gained(sender["t_s"], sender["segments_sent"], edges_s)
    references = _mean_reference(episode_config, learner, edges_s)
    measured = Measured(
        np.diff(edges_s) * 1e6,
        _gained(receiver["t_s"], receiver["bytes"], edges_s),
        np.maximum(sent - retransmitted, 0.0),
        retransmitted,
        _mean_rtt_us(sender["t_s"], sender["srtt_us"], edges_s, float(np.ravel(references.rtt_ms)[0]) * 1e3),
    )
    return compute_reward(measured, references, episode_config.reward or weights)


def run_fitness(outcomes: Sequence[Outcome], guarded: int, guard_penalty: float) -> float:
    """Return the fitness of a run: the mean over its flows under test, of which the guard has taken `guarded`."""
    worth = [np.mean(outcome.reward) for outcome in outcomes]
    return float(np.mean(worth)) - guard_penalty * guarded / len(outcomes)


def scores(fitness: Floats) -> Floats:
    """Return [C]: how candidates rank, from their fitness [C, P]; the mean over paths of their ranks on each.

    A rank is -0.5 for the worst and 0.5 for the best; equal fitness gives equal ranks. One candidate has 0.
    """
    count = len(fitness)
    ranks = rankdata(fitness, axis=0)  # 1 for the worst, C for the best
    centred: Floats = (ranks - (count + 1) / 2) / max(count - 1, 1)
    return np.asarray(centred.mean(axis=1))


def _mean_reference(episode_config: EpisodeConfig, learner: EpisodeFlow, edges_s: Floats) -> Reference:
    """Return the mean of what the flow could have in each stretch, [W]; edges_s: [W + 1].

    Others that begin within a stretch are there for the rest of it.
    """
    count = edges_s.size - 1
    fine_s = np.interp(np.arange(count * PARTS + 1) / PARTS, np.arange(count + 1), edges_s)
    fine = FlowReference(episode_config, learner).over(fine_s)
    return Reference(*(np.broadcast_to(part, count * PARTS).reshape(count, PARTS).mean(axis=1) for part in fine))


def _gained(t_s: Floats, total: Floats, edges_s: Floats) -> Floats:
    """Return what a counter that began at 0 gained in each stretch, [W]; t_s, total: [N]. After the samples nothing."""
    return np.diff(np.interp(edges_s, [edges_s[0], *t_s], [0.0, *total]))


def _mean_rtt_us(t_s: Floats, srtt_us: Floats, edges_s: Floats, first_us: float) -> Floats:
    """Return the mean RTT of each stretch, [W]; t_s, srtt_us: [N], 0 where there was no RTT sample yet."""
    known = srtt_us > 0
    stretch = np.clip(np.searchsorted(edges_s, t_s[known]) - 1, 0, edges_s.size - 2)
    counts = np.bincount(stretch, minlength=edges_s.size - 1)
    sums = np.bincount(stretch, srtt_us[known], edges_s.size - 1)
    means: list[float] = []
    for total, count in zip(sums, counts, strict=True):
        means.append(float(total / count) if count else (means[-1] if means else first_us))
    return np.array(means)
