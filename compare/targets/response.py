"""How many round trips a scheme takes to respond to a change. Pure functions of a run's result.

A round trip at a given time is that of the empty path plus the queueing delay at the bottleneck. A sender can learn of
a change, and act on it, once per round trip. All figures come from the samples of the queue
(docs/reference/file-formats.md), so a run needs several samples per round trip.

Letters of shapes: N samples of the queue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compare.metrics.group_metrics import jain_index
from compare.metrics.metric import BITS_PER_MBIT, Floats
from compare.metrics.series import rate_between
from env.lab import FlowResult, RunResult
from env.network.capacity import PAYLOAD_SHARE, base_rtt_ms, link_capacity
from env.network.path import Path
from env.network.scenario import UNDER_TEST, Scenario

USED = 0.95  # of what the link carries, over so many round trips:
USE_ROUND_TRIPS = 5
DRAINED = 0.25  # of the empty path's round trip: largest queueing delay of a drained queue
SETTLED = 20  # round trips after the last flow's start; shares are then measured over as many more


@dataclass(frozen=True)
class Link:
    """The bottleneck over time, every field of shape (N,), beginning at 0 s.

    wait_ms: queueing delay of a packet that arrives. sent_mbit: payload since the run began. passed: round trips since
    then.
    """

    t_s: Floats
    wait_ms: Floats
    sent_mbit: Floats
    passed: Floats

    def round_trips(self, begin_s: float, end_s: float) -> float:
        """Return the number of round trips between two times."""
        begin, end = np.interp([begin_s, end_s], self.t_s, self.passed)
        return float(end - begin)

    def after(self, begin_s: float, round_trips: float) -> float:
        """Return the time a number of round trips later, at most that of the last sample."""
        return float(np.interp(np.interp(begin_s, self.t_s, self.passed) + round_trips, self.passed, self.t_s))

    def sent_between(self, begin_s: float, end_s: float) -> float:
        """Return the payload sent between two times, Mbit."""
        begin, end = np.interp([begin_s, end_s], self.t_s, self.sent_mbit)
        return float(end - begin)


def bottleneck(result: RunResult, path: Path, duration_s: float) -> Link | None:
    """Return the bottleneck of a router path over time; None without samples of its queue."""
    if not len(result.queue):
        return None
    t_s = np.append(0.0, result.queue["t_s"])
    backlog = np.append(0.0, result.queue["backlog_bytes"])
    sent = np.append(0.0, result.queue["sent_bytes"]) * 8 / BITS_PER_MBIT * PAYLOAD_SHARE
    wait_ms = 1e3 * link_capacity(path, duration_s).seconds_to_carry(t_s, backlog)
    per_s = 1e3 / (base_rtt_ms(path, t_s, 1) + wait_ms)
    passed = np.append(0.0, np.cumsum(np.diff(t_s) * (per_s[1:] + per_s[:-1]) / 2))
    return Link(t_s, wait_ms, sent, passed)


@dataclass(frozen=True)
class RateStep:
    """A step of the rate. end_s: time of the next change."""

    at_s: float
    end_s: float
    before_mbps: float
    after_mbps: float


def rate_steps(path: Path, duration_s: float) -> Iterator[RateStep]:
    """Yield the steps that change the rate, in order."""
    before = path
    ends = [*(step.at_s for step in path.steps[1:]), duration_s]
    for step, end_s in zip(path.steps, ends, strict=False):  # a path without steps still has an end
        after = before.after(step)
        if after.rate_mbps != before.rate_mbps:
            yield RateStep(step.at_s, end_s, before.rate_mbps, after.rate_mbps)
        before = after


def round_trips_to_use(result: RunResult, scenario: Scenario) -> float:
    """Return the round trips until 95 % of a higher rate are used, for the slowest increase.

    They end where the first five round trips begin over which the link sends so much. An increase that is not used
    before the next change counts as the full number of round trips until then. NaN without an increase or samples.
    """
    path, duration_s = scenario.network_path(), scenario.duration_s
    link = bottleneck(result, path, duration_s)
    if link is None:
        return math.nan
    capacity = link_capacity(path, duration_s)

    def used(begin_s: float) -> float:
        end_s = link.after(begin_s, USE_ROUND_TRIPS)
        return link.sent_between(begin_s, end_s) / float(capacity.between(begin_s, end_s))

    round_trips = []
    for step in rate_steps(path, duration_s):
        if step.after_mbps > step.before_mbps:
            last_s = min(step.end_s, float(link.t_s[-1]))
            times = _times(link, step.at_s, last_s)
            good = (
                t for t in times if link.round_trips(float(t), last_s) >= USE_ROUND_TRIPS and used(float(t)) >= USED
            )
            round_trips.append(link.round_trips(step.at_s, float(next(good, last_s))))
    return max(round_trips, default=math.nan)


def round_trips_to_drain(result: RunResult, scenario: Scenario) -> float:
    """Return the round trips until the queue after a lower rate is drained, for the slowest decrease.

    A queue is drained when its delay is at most a quarter of the empty path's round trip. The search begins one such
    round trip after the step, when the packets in flight at the step have arrived. A queue that is not drained before
    the next change counts as the full number of round trips until then. NaN without a decrease or samples.
    """
    path, duration_s = scenario.network_path(), scenario.duration_s
    link = bottleneck(result, path, duration_s)
    if link is None:
        return math.nan
    round_trips = []
    for step in rate_steps(path, duration_s):
        if step.after_mbps < step.before_mbps:
            last_s = min(step.end_s, float(link.t_s[-1]))
            base_s = float(base_rtt_ms(path, np.array([step.at_s]), 1)[0]) / 1e3
            times = _times(link, step.at_s + base_s, last_s)
            waits_ms = np.interp(times, link.t_s, link.wait_ms)
            drained = times[waits_ms <= DRAINED * base_s * 1e3]
            round_trips.append(link.round_trips(step.at_s, float(drained[0]) if drained.size else last_s))
    return max(round_trips, default=math.nan)


def _times(link: Link, begin_s: float, end_s: float) -> Floats:
    """Return both ends and the times of the samples between them."""
    within = link.t_s[(link.t_s > begin_s) & (link.t_s < end_s)]
    return np.concatenate([[begin_s], within, [end_s]])


def jain_when_settled(result: RunResult, scenario: Scenario) -> float:
    """Return the Jain index of the flows under test from 20 to 40 round trips after the last one's start.

    NaN where the run ends before that, or has no samples.
    """
    return _jain(result, scenario, SETTLED)


def jain_from_then_on(result: RunResult, scenario: Scenario) -> float:
    """Return the same from 20 round trips after the last one's start to the end of the run."""
    return _jain(result, scenario, math.inf)


def _jain(result: RunResult, scenario: Scenario, over: float) -> float:
    link = bottleneck(result, scenario.network_path(), scenario.duration_s)
    flows = tested_flows(result, scenario)
    if link is None:
        return math.nan
    last_s = max(flow.start_s for flow in flows)
    end_s = float(link.t_s[-1])
    begin_s = link.after(last_s, SETTLED)
    until_s = end_s if math.isinf(over) else link.after(begin_s, over)
    if begin_s >= end_s or (math.isfinite(over) and link.round_trips(begin_s, end_s) < over):
        return math.nan
    return jain_index([rate_between(flow, begin_s, until_s) for flow in flows])


def tested_flows(result: RunResult, scenario: Scenario) -> Sequence[FlowResult]:
    """Return the flows of a run that are under test."""
    schemes = [flow["scheme"] for flow in scenario.flows_with(UNDER_TEST)]
    return [flow for flow, scheme in zip(result.flows, schemes, strict=True) if scheme == UNDER_TEST]
