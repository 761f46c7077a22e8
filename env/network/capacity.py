"""Pure functions for the capacity of a network at any time of a run, and for its round-trip time without a queue.

Capacity counts payload: 1448 bytes of a full frame of 1514 bytes belong to the application (TCP with time stamps).
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
from env.network.traces.delay import INTERVAL_MS, load_delay_trace
from env.network.traces.format import load_trace

Floats = NDArray[np.float64]

BITS_PER_MBIT = 1e6
PAYLOAD_SHARE = SEGMENT_BYTES / PACKET_BYTES  # of a full frame
DRAIN_S = 60.0  # the capacity goes on after the run's end, for queues that drain then


@dataclass(frozen=True)
class Capacity:
    """The payload that the network could have carried since the run began, as a piecewise linear function of time.

    t_s, megabits: shape (K,), neither decreases.
    """

    t_s: Floats
    megabits: Floats

    def between(self, begin_s: Floats | float, end_s: Floats | float) -> Floats:
        """Return the capacity of one interval or of several, Mbit of payload."""
        begin, end = np.asarray(begin_s, dtype=np.float64), np.asarray(end_s, dtype=np.float64)
        carried: Floats = np.interp(end, self.t_s, self.megabits) - np.interp(begin, self.t_s, self.megabits)
        return carried

    def seconds_to_carry(self, t_s: Floats, backlog_bytes: Floats) -> Floats:
        """Return the time in which a queue of backlog_bytes (of frames) at t_s drains, s; shape of the arguments."""
        last_megabit = backlog_bytes * 8 / BITS_PER_MBIT * PAYLOAD_SHARE + np.interp(t_s, self.t_s, self.megabits)
        drained: Floats = np.interp(last_megabit, self.megabits, self.t_s)
        return np.where(backlog_bytes > 0, np.maximum(drained - t_s, 0.0), 0.0)


def link_capacity(path: Path, duration_s: float) -> Capacity:
    """Return the capacity of a router path's bottleneck, from its rate with all steps or from its trace."""
    end_s = duration_s + DRAIN_S
    if path.trace:
        return _trace_capacity(path.trace, end_s)
    return _stepped(path, end_s, math.inf)


def network_capacity(network: Path | Rack, duration_s: float, pairs: Iterable[tuple[int, int]] = ()) -> Capacity:
    """Return the capacity of a network from its senders to its receivers.

    The bottleneck and the policer limit a path; a loopback path has reference_mbps. A rack has the rate of a link times
    the number of links that its flows can keep busy at once. pairs: each flow's client and server, from 1.
    """
    end_s = duration_s + DRAIN_S
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
    carried = np.minimum(np.diff(traced.megabits), police * np.diff(traced.t_s))
    return Capacity(traced.t_s, np.concatenate([[0.0], np.cumsum(carried)]))


def capacity_until(network: Path | Rack, end_s: float) -> Capacity:
    """Return the capacity of a network until end_s and at least a minute longer."""
    # rounded to whole minutes, because the capacity of a trace is cached by its length
    return network_capacity(network, math.ceil(end_s / 60) * 60.0)


def base_rtt_ms(path: Path, t_s: Floats, client: int) -> Floats:
    """Return the RTT of a full packet sent at t_s by a client (from 1) when no queue exists, ms; shape of t_s.

    It includes the packet's transmission time on the bottleneck's link. With jitter it is the mean.
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
    return values + _delay_trace_ms(path, t_s) if path.delay_trace else values


def _delay_trace_ms(path: Path, t_s: Floats) -> Floats:
    """Return by how much the RTT of a delay trace at t_s differs from its mean, ms; shape of t_s."""
    delays_ms = np.frombuffer(load_delay_trace(path.delay_trace).delays_ms)
    index = np.maximum(t_s * 1e3 / INTERVAL_MS, 0).astype(np.int64) % delays_ms.size
    differences_ms: Floats = 2 * delays_ms[index] - path.rtt_ms
    return differences_ms


def _constant(mbps: float, end_s: float) -> Capacity:
    return Capacity(np.array([0.0, end_s]), np.array([0.0, mbps * end_s]))


def _stepped(path: Path, end_s: float, limit_mbps: float) -> Capacity:
    t_s, rates, path_now = [0.0], [min(path.rate_mbps, limit_mbps)], path
    for step in path.steps:
        path_now = path_now.after(step)
        t_s.append(step.at_s)
        rates.append(min(path_now.rate_mbps, limit_mbps))
    knots = np.array([*t_s, max(end_s, t_s[-1])])
    carried = np.cumsum(np.diff(knots) * np.array(rates)) * PAYLOAD_SHARE
    return Capacity(knots, np.concatenate([[0.0], carried]))


@functools.lru_cache(maxsize=4)  # all runs of a scenario need the same
def _trace_capacity(name: str, end_s: float) -> Capacity:
    """Return the capacity of a trace. An opportunity at ms counts for the interval from ms - 1 to ms."""
    trace = load_trace(name)
    times_ms, opportunities = np.unique(np.asarray(trace.times_ms), return_counts=True)
    per_ms = np.zeros(trace.duration_ms + 1)
    per_ms[times_ms] = opportunities
    per_ms[-1] += per_ms[0]  # at 0 the trace begins again
    end_ms = math.ceil(end_s * 1e3)
    repeated = np.resize(per_ms[1:], end_ms)
    megabits = np.concatenate([[0.0], np.cumsum(repeated)]) * SEGMENT_BYTES * 8 / BITS_PER_MBIT
    return Capacity(np.arange(end_ms + 1) / 1e3, megabits)


def _busy_links(pairs: set[tuple[int, int]]) -> int:
    """Return the number of (client, server) pairs that can be busy at once when every host has one link."""
    if not pairs:
        return 0
    clients, servers = (np.array(side) for side in zip(*sorted(pairs), strict=True))
    table = csr_array((np.ones(len(pairs)), (clients, servers)))
    return int(np.count_nonzero(maximum_bipartite_matching(table) >= 0))
