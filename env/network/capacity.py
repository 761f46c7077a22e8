"""What a network can carry at any time of a run, and how long a round trip takes without a queue. Pure functions.

Capacity counts payload: of a full frame of 1514 bytes 1448 are the application's (TCP with time stamps).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from env.network.path import PACKET_BYTES, Path
from env.network.rack import SEGMENT_BYTES, Rack
from env.network.traces.format import load_trace

Floats = NDArray[np.float64]

BITS_PER_MBIT = 1e6
PAYLOAD_SHARE = SEGMENT_BYTES / PACKET_BYTES  # of a full frame
BEYOND_S = 60.0  # a queue may take so long to drain after the run's end


@dataclass(frozen=True)
class Capacity:
    """The sum of all payload that could have been carried since the run began.

    t_s, megabits: shape (K,), both never falling; between two of them the rate is constant.
    """

    t_s: Floats
    megabits: Floats

    def between(self, begin_s: Floats | float, end_s: Floats | float) -> Floats:
        """Return how much could be carried in an interval, or in several, Mbit of payload."""
        begin, end = np.asarray(begin_s, dtype=np.float64), np.asarray(end_s, dtype=np.float64)
        carried: Floats = np.interp(end, self.t_s, self.megabits) - np.interp(begin, self.t_s, self.megabits)
        return carried

    def seconds_to_carry(self, t_s: Floats, backlog_bytes: Floats) -> Floats:
        """Return how long after t_s a queue of so many bytes, in frames, has drained, s; shape that of both."""
        wanted = backlog_bytes * 8 / BITS_PER_MBIT * PAYLOAD_SHARE + np.interp(t_s, self.t_s, self.megabits)
        drained: Floats = np.interp(wanted, self.megabits, self.t_s)
        return np.where(backlog_bytes > 0, np.maximum(drained - t_s, 0.0), 0.0)


def link_capacity(path: Path, duration_s: float) -> Capacity:
    """Return what the bottleneck of a router path carries: its rate, changed by the steps, or its trace."""
    end_s = duration_s + BEYOND_S
    if path.trace:
        return _trace_capacity(path.trace, end_s)
    return _stepped(path, end_s, math.inf)


def network_capacity(network: Path | Rack, duration_s: float, pairs: Iterable[tuple[int, int]] = ()) -> Capacity:
    """Return what a network carries from its senders to its receivers.

    Of a path that is what its bottleneck and its policer let through; of a loopback path reference_mbps. A rack's flows
    (pairs: of client and server, from 1) go between hosts of one rate: it carries that of as many links as can be busy
    at once.
    """
    end_s = duration_s + BEYOND_S
    if isinstance(network, Rack):
        return _constant(_busy_links(set(pairs)) * network.frame_mbps * PAYLOAD_SHARE, end_s)
    if network.topology == "loopback":
        return _constant(network.reference_mbps, end_s)
    if not network.police_mbps:
        return link_capacity(network, duration_s)
    if not network.trace:
        return _stepped(network, end_s, network.police_mbps)
    traced = _trace_capacity(network.trace, end_s)
    police = network.police_mbps * PAYLOAD_SHARE
    least = np.minimum(np.diff(traced.megabits), police * np.diff(traced.t_s))
    return Capacity(traced.t_s, np.concatenate([[0.0], np.cumsum(least)]))


def capacity_until(network: Path | Rack, end_s: float) -> Capacity:
    """Return what a network carries until then, and for a minute more at least."""
    # whole minutes: a trace's capacity is kept for whoever asks for as much of it
    return network_capacity(network, math.ceil(end_s / 60) * 60.0)


def base_rtt_ms(path: Path, t_s: Floats, client: int) -> Floats:
    """Return the RTT without a queue of a full packet that is sent at t_s by a client (from 1), ms; shape of t_s.

    It has the time that the packet takes on the bottleneck's link in it. With jitter it is the mean.
    """
    values, path_now = np.empty_like(t_s), path
    extra_ms = path.client_extra_rtt_ms[client - 1] if path.client_extra_rtt_ms else 0.0
    starts = [-math.inf, *(step.at_s for step in path.steps)]
    for i, (begin_s, end_s) in enumerate(itertools.pairwise([*starts, math.inf])):
        if i:
            path_now = path_now.after(path.steps[i - 1])
        sending_ms = PACKET_BYTES * 8 / path_now.rate_mbps / 1e3 if path.topology == "router" else 0.0
        now_ms = path.reference_rtt_ms + path_now.rtt_ms - path.rtt_ms + extra_ms + sending_ms
        values[(t_s >= begin_s) & (t_s < end_s)] = now_ms
    return values


def _constant(mbps: float, end_s: float) -> Capacity:
    return Capacity(np.array([0.0, end_s]), np.array([0.0, mbps * end_s]))


def _stepped(path: Path, end_s: float, most_mbps: float) -> Capacity:
    t_s, rates, now = [0.0], [min(path.rate_mbps, most_mbps)], path
    for step in path.steps:
        now = now.after(step)
        t_s.append(step.at_s)
        rates.append(min(now.rate_mbps, most_mbps))
    knots = np.array([*t_s, max(end_s, t_s[-1])])
    carried = np.cumsum(np.diff(knots) * np.array(rates)) * PAYLOAD_SHARE
    return Capacity(knots, np.concatenate([[0.0], carried]))


@functools.lru_cache(maxsize=4)  # every run of a scenario asks for the same
def _trace_capacity(name: str, end_s: float) -> Capacity:
    """Return a trace's: an opportunity at a millisecond counts for the one that ends with it."""
    trace = load_trace(name)
    times_ms, opportunities = np.unique(np.asarray(trace.times_ms), return_counts=True)
    per_ms = np.zeros(trace.duration_ms + 1)
    per_ms[times_ms] = opportunities
    per_ms[-1] += per_ms[0]  # at 0 the trace begins again
    wanted_ms = math.ceil(end_s * 1e3)
    tiled = np.resize(per_ms[1:], wanted_ms)
    megabits = np.concatenate([[0.0], np.cumsum(tiled)]) * SEGMENT_BYTES * 8 / BITS_PER_MBIT
    return Capacity(np.arange(wanted_ms + 1) / 1e3, megabits)


def _busy_links(pairs: set[tuple[int, int]]) -> int:
    """Return how many of the pairs of client and server can be busy at once when every host has one link."""
    if not pairs:
        return 0
    clients, servers = (np.array(side) for side in zip(*sorted(pairs), strict=True))
    table = csr_array((np.ones(len(pairs)), (clients, servers)))
    return int(np.count_nonzero(maximum_bipartite_matching(table) >= 0))
