"""The round trips that a scheme takes to respond to a change: pure functions of a run's result.

A round trip is that of the empty path plus the queueing delay at the bottleneck at the time. A sender can notice a
change, and react, once per round trip. All figures come from the samples of the queue (docs/reference/file-formats.md),
so a run needs several samples per round trip.

Shapes: N samples of the queue.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compare.experiment.experiment import flows_under_test
from compare.metrics.group_metrics import jain_index
from compare.metrics.metric import BITS_PER_MBIT, Floats
from compare.metrics.series import goodput_between
from env.lab import RunResult
from env.network.capacity import PAYLOAD_SHARE, base_rtt_ms, link_capacity
from env.network.path import Path
from env.network.scenario import Scenario

USED = 0.95  # share of the capacity over USE_ROUND_TRIPS round trips that counts as using the rate
USE_ROUND_TRIPS = 5
DRAINED = 0.25  # largest queueing delay of a drained queue, as a share of the empty path's round trip
SETTLED = 20  # round trips from the last flow's start until shares are measured, over as many round trips


@dataclass(frozen=True)
class Link:
    """The bottleneck over time, every field of shape (N + 1,), beginning at 0 s.

    wait_ms: queueing delay of a packet that arrives. sent_mbit, round_trips: payload and round trips since the run
    began.
    """

    t_s: Floats
    wait_ms: Floats
    sent_mbit: Floats
    round_trips: Floats

    def round_trips_between(self, begin_s: float, end_s: float) -> float:
        """Return the number of round trips between two times."""
        begin, end = np.interp([begin_s, end_s], self.t_s, self.round_trips)
        return float(end - begin)

    def time_after(self, begin_s: float, round_trips: float) -> float:
        """Return the time a number of round trips later, at most that of the last sample."""
        end = np.interp(begin_s, self.t_s, self.round_trips) + round_trips
        return float(np.interp(end, self.round_trips, self.t_s))

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
    round_trips = np.append(0.0, np.cumsum(np.diff(t_s) * (per_s[1:] + per_s[:-1]) / 2))
    return Link(t_s, wait_ms, sent, round_trips)


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
    """Return the round trips from an increase of the rate until 95 % of the rate is used, for the slowest increase.

    The rate is used from the beginning of the first five round trips over which the link sends 95 %. An increase that
    is not used before the next change counts as the full number of round trips until then. NaN without an increase or
    samples.
    """
    path, duration_s = scenario.network_path(), scenario.duration_s
    link = bottleneck(result, path, duration_s)
    if link is None:
        return math.nan
    capacity = link_capacity(path, duration_s)

    def used(begin_s: float) -> float:
        end_s = link.time_after(begin_s, USE_ROUND_TRIPS)
        return link.sent_between(begin_s, end_s) / float(capacity.between(begin_s, end_s))

    round_trips = []
    for step in rate_steps(path, duration_s):
        if step.after_mbps > step.before_mbps:
            last_s = min(step.end_s, float(link.t_s[-1]))
            used_from_s = (
                t
                for t in map(float, _times(link, step.at_s, last_s))
                if link.round_trips_between(t, last_s) >= USE_ROUND_TRIPS and used(t) >= USED
            )
            round_trips.append(link.round_trips_between(step.at_s, next(used_from_s, last_s)))
    return max(round_trips, default=math.nan)


def round_trips_to_drain(result: RunResult, scenario: Scenario) -> float:
    """Return the round trips from a decrease of the rate until the queue is drained, for the slowest decrease.

    A queue is drained if its delay is at most a quarter of the empty path's round trip. The search begins one such
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
            round_trips.append(link.round_trips_between(step.at_s, float(drained[0]) if drained.size else last_s))
    return max(round_trips, default=math.nan)


def _times(link: Link, begin_s: float, end_s: float) -> Floats:
    """Return both ends and the times of the samples between them."""
    within = link.t_s[(link.t_s > begin_s) & (link.t_s < end_s)]
    return np.concatenate([[begin_s], within, [end_s]])


def jain_when_settled(result: RunResult, scenario: Scenario) -> float:
    """Return the Jain index of the flows under test from 20 to 40 round trips after the last flow's start.

    NaN if the run ends before that or has no samples.
    """
    return _jain(result, scenario, SETTLED)


def jain_later(result: RunResult, scenario: Scenario) -> float:
    """Return the Jain index from 20 round trips after the last flow's start to the end of the run; else NaN."""
    return _jain(result, scenario, math.inf)


def _jain(result: RunResult, scenario: Scenario, round_trips: float) -> float:
    link = bottleneck(result, scenario.network_path(), scenario.duration_s)
    if link is None:
        return math.nan
    flows = list(itertools.compress(result.flows, flows_under_test(scenario)))
    run_end_s = float(link.t_s[-1])
    begin_s = link.time_after(max(flow.start_s for flow in flows), SETTLED)
    end_s = run_end_s if math.isinf(round_trips) else link.time_after(begin_s, round_trips)
    if begin_s >= run_end_s or (
        math.isfinite(round_trips) and link.round_trips_between(begin_s, run_end_s) < round_trips
    ):
        return math.nan
    return jain_index([goodput_between(flow, begin_s, end_s) for flow in flows])
