"""How soon a change is answered, counted in round trips. Pure functions of a run's result.

A round trip lasts as long as it does at that time: that of the empty path and what waits at the bottleneck. A sender
can learn of a change, and act on it, once in that time and not more often. All of it is read off the samples of the
queue (docs/reference/file-formats.md), so a run must have some per round trip.

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
DRAINED = 0.25  # of the empty path's round trip: what may wait in a queue that counts as drained
SETTLED = 20  # round trips after the last flow's start, and so many more over which shares are then measured


@dataclass(frozen=True)
class Link:
    """What the bottleneck did. t_s, wait_ms (until what has just come is sent), sent_mbit: shape (N,), from 0 on.

    sent_mbit: payload since the run began. passed: round trips since then.
    """

    t_s: Floats
    wait_ms: Floats
    sent_mbit: Floats
    passed: Floats

    def round_trips(self, begin_s: float, end_s: float) -> float:
        """Return how many round trips there are between two instants."""
        begin, end = np.interp([begin_s, end_s], self.t_s, self.passed)
        return float(end - begin)

    def after(self, begin_s: float, round_trips: float) -> float:
        """Return the instant that comes so many round trips later; the last sample's where it is beyond that."""
        return float(np.interp(np.interp(begin_s, self.t_s, self.passed) + round_trips, self.passed, self.t_s))

    def sent_between(self, begin_s: float, end_s: float) -> float:
        """Return what was sent between two instants, Mbit of payload."""
        begin, end = np.interp([begin_s, end_s], self.t_s, self.sent_mbit)
        return float(end - begin)


def bottleneck(result: RunResult, path: Path, duration_s: float) -> Link | None:
    """Return what the bottleneck of a router path did; None where its queue was not sampled."""
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
    """A step of the rate, and until when nothing else changes."""

    at_s: float
    end_s: float
    before_mbps: float
    after_mbps: float


def rate_steps(path: Path, duration_s: float) -> Iterator[RateStep]:
    """Yield the steps that change the rate, in order."""
    now = path
    ends = [*(step.at_s for step in path.steps[1:]), duration_s]
    for step, end_s in zip(path.steps, ends, strict=False):  # without a step there is an end too
        then = now.after(step)
        if then.rate_mbps != now.rate_mbps:
            yield RateStep(step.at_s, end_s, now.rate_mbps, then.rate_mbps)
        now = then


def round_trips_to_use(result: RunResult, scenario: Scenario) -> float:
    """Return after how many round trips 95 % of a higher rate are used, of all increases that which took longest.

    That is the beginning of the first five round trips over which the link sends so much. One that does not come
    before the next change counts with all the round trips that there were. NaN without an increase, or samples.
    """
    path, duration_s = scenario.network_path(), scenario.duration_s
    link = bottleneck(result, path, duration_s)
    if link is None:
        return math.nan
    capacity = link_capacity(path, duration_s)

    def used(begin_s: float) -> float:
        end_s = link.after(begin_s, USE_ROUND_TRIPS)
        return link.sent_between(begin_s, end_s) / float(capacity.between(begin_s, end_s))

    found = []
    for step in rate_steps(path, duration_s):
        if step.after_mbps > step.before_mbps:
            last_s = min(step.end_s, float(link.t_s[-1]))
            times = _times(link, step.at_s, last_s)
            good = (
                t for t in times if link.round_trips(float(t), last_s) >= USE_ROUND_TRIPS and used(float(t)) >= USED
            )
            found.append(link.round_trips(step.at_s, float(next(good, last_s))))
    return max(found, default=math.nan)


def round_trips_to_drain(result: RunResult, scenario: Scenario) -> float:
    """Return after how many round trips the queue is drained that a lower rate leaves; of all the one that took most.

    Drained: what waits is sent within a quarter of the empty path's round trip. It is looked for from one such round
    trip after the step on: before that what is on the way has not come yet. One that does not come before the next
    change counts with all the round trips that there were. NaN without a decrease, or samples.
    """
    path, duration_s = scenario.network_path(), scenario.duration_s
    link = bottleneck(result, path, duration_s)
    if link is None:
        return math.nan
    found = []
    for step in rate_steps(path, duration_s):
        if step.after_mbps < step.before_mbps:
            last_s = min(step.end_s, float(link.t_s[-1]))
            base_s = float(base_rtt_ms(path, np.array([step.at_s]), 1)[0]) / 1e3
            times = _times(link, step.at_s + base_s, last_s)
            waits_ms = np.interp(times, link.t_s, link.wait_ms)
            drained = times[waits_ms <= DRAINED * base_s * 1e3]
            found.append(link.round_trips(step.at_s, float(drained[0]) if drained.size else last_s))
    return max(found, default=math.nan)


def _times(link: Link, begin_s: float, end_s: float) -> Floats:
    """Return the instants that are looked at: both ends and the samples between them."""
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
