"""Pure functions for the fitness of a run: the reward of env/reward.py over windows of a second instead of intervals.

A flow under test is cut into windows of about a second. Each window has the reward that an interval would have, against
the fair share of what the path carries in it (env/reference.py). A flow that starts late, a link that changes and
learners that take turns are therefore compared with what was possible. The fitness of a flow is the mean over its
windows, slow start included, and the fitness of a run is the mean over its flows under test. The receiver's bytes stand
for the delivered data: within a second, nearly all data that waited behind a hole has been delivered.

When the module's guard takes a connection from the policy and gives it to Reno (kernel/ndm/ndm_guard.h), the run ends,
because from then on it would measure Reno. Nothing is delivered in the rest of the run, and each guarded flow costs
`guard_penalty` besides.

The fitness varies more on some paths than on others, so the few paths with the largest variance would dominate a sum.
On each path all candidates of a generation meet the same random numbers, and only their ranks count (`scores`), so that
every path has the same weight.

Letters of shapes: C candidates, P paths of a generation, W windows of a flow, N samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from env.lab import FlowResult
from env.profile import EpisodeConfig, EpisodeFlow
from env.reference import FlowReference
from env.reward import Measured, Outcome, Reference, RewardWeights, compute_reward

Floats = npt.NDArray[np.float64]

WINDOW_S = 1.0
PARTS = 10  # of a window; its reference is the mean over them


def flow_reward(
    flow: FlowResult,
    config: EpisodeConfig,
    learner: EpisodeFlow,
    duration_s: float,
    weights: RewardWeights,
) -> Outcome:
    """Return the reward of a flow in each window, arrays [W].

    flow: of a run's result with samples (docs/reference/file-formats.md). learner: the flow in the episode's config.
    duration_s: of the run. A window without an RTT sample has the RTT of the window before it.

    Raises ValueError for a flow without samples.
    """
    sender, receiver = flow.sender, flow.receiver
    if not len(sender) or not len(receiver):
        raise ValueError(f"the flow of {flow.scheme} has no samples: run it with sample_ms")
    length_s = duration_s - learner.start_s
    edges_s = learner.start_s + np.linspace(0.0, length_s, max(1, round(length_s / WINDOW_S)) + 1)  # [W + 1]
    retransmitted = _gained(sender["t_s"], sender["retransmits"], edges_s)
    sent = _gained(sender["t_s"], sender["segments_sent"], edges_s)
    references = _mean_reference(config, learner, edges_s)
    measured = Measured(
        np.diff(edges_s) * 1e6,
        _gained(receiver["t_s"], receiver["bytes"], edges_s),
        np.maximum(sent - retransmitted, 0.0),
        retransmitted,
        _mean_rtt_us(sender["t_s"], sender["srtt_us"], edges_s, float(np.ravel(references.rtt_ms)[0]) * 1e3),
    )
    return compute_reward(measured, references, config.reward or weights)


def run_fitness(outcomes: Sequence[Outcome], guarded: int, guard_penalty: float) -> float:
    """Return the fitness of a run: the mean over its flows under test. guarded: flows that the guard has taken."""
    rewards = [np.mean(outcome.reward) for outcome in outcomes]
    return float(np.mean(rewards)) - guard_penalty * guarded / len(outcomes)


def scores(fitness: Floats) -> Floats:
    """Return each candidate's mean rank over the paths, [C], from their fitness [C, P].

    A rank is -0.5 for the worst and 0.5 for the best; equal fitness gives equal ranks. A single candidate has rank 0.
    """
    from scipy.stats import rankdata  # only here, as in training/cma.py: every training imports this file

    count = len(fitness)
    ranks = rankdata(fitness, axis=0)  # 1 for the worst, C for the best
    centred: Floats = (ranks - (count + 1) / 2) / max(count - 1, 1)
    return np.asarray(centred.mean(axis=1))


def _mean_reference(config: EpisodeConfig, learner: EpisodeFlow, edges_s: Floats) -> Reference:
    """Return the mean reference of the flow in each window, [W]; edges_s: [W + 1].

    A flow that starts within a window counts for the rest of that window.
    """
    count = edges_s.size - 1
    fine_s = np.interp(np.arange(count * PARTS + 1) / PARTS, np.arange(count + 1), edges_s)
    fine = FlowReference(config, learner).over(fine_s)
    return Reference(*(np.broadcast_to(part, count * PARTS).reshape(count, PARTS).mean(axis=1) for part in fine))


def _gained(t_s: Floats, total: Floats, edges_s: Floats) -> Floats:
    """Return the increase of a counter that began at 0 in each window, [W]; t_s, total: [N]. 0 after the samples."""
    return np.diff(np.interp(edges_s, [edges_s[0], *t_s], [0.0, *total]))


def _mean_rtt_us(t_s: Floats, srtt_us: Floats, edges_s: Floats, first_us: float) -> Floats:
    """Return the mean RTT of each window, [W]; t_s, srtt_us: [N], 0 before the first RTT sample."""
    known = srtt_us > 0
    window = np.clip(np.searchsorted(edges_s, t_s[known]) - 1, 0, edges_s.size - 2)
    counts = np.bincount(window, minlength=edges_s.size - 1)
    sums = np.bincount(window, srtt_us[known], edges_s.size - 1)
    means: list[float] = []
    for total, count in zip(sums, counts, strict=True):
        means.append(float(total / count) if count else (means[-1] if means else first_us))
    return np.array(means)
