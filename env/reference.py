"""The reference of the reward: the best that a path allows one flow, interval by interval.

All rewards use this one reference: those of the Gymnasium environments, of the rollouts that PPO learns from and of
every study. It follows the path over time. In an interval

* the reference goodput is the mean capacity of the bottleneck, with its steps or its trace, divided by the number of
  flows that have begun by the end of the interval;
* the reference RTT is the flow's own RTT without a queue, plus the time that the packets of a delayed acknowledgement
  take on the bottleneck's link.
"""

from __future__ import annotations

import bisect

import numpy as np
import numpy.typing as npt

from env.network.capacity import Capacity, base_rtt_ms, capacity_until
from env.network.clock import VIRTUAL
from env.network.path import PACKET_BYTES, Path
from env.profile import EpisodeConfig, EpisodeFlow
from env.reward import Reference

Floats = npt.NDArray[np.float64]

DELAYED_ACK_PACKETS = 2  # a receiver acknowledges every second packet (RFC 1122, 4.2.3.2), so two cross the link first
SHORTEST_S = 1e-6  # of an interval: two observations at the same instant count as 1 us apart
GRID_US = VIRTUAL.grid_ns // 1000


def run_origin_us(first_us: int) -> int:
    """Return when a run of a virtual lab began, us of the lab's clock. first_us: of the run's first observation."""
    return first_us // GRID_US * GRID_US


class FlowReference:
    """The reference of one flow of an episode. flow: one of the episode's learners. Times: s since the run began."""

    def __init__(self, config: EpisodeConfig, flow: EpisodeFlow) -> None:
        self._path = config.path
        self._client = flow.client
        self._starts_s = np.array([flow.start_s for flow in (*config.learners, *config.rivals)])  # [flows]
        # the base RTT already contains one packet's time on the link
        self._serialization_ms = (DELAYED_ACK_PACKETS - 1) * _packet_ms(self._path)
        self._capacity: Capacity | None = None
        # without traces the reference is constant between two of these times
        self._changes_s = sorted({*self._starts_s.tolist(), *(step.at_s for step in self._path.steps)})
        self._constant: dict[int, Reference] = {}  # by the number of changes so far

    def over(self, t_s: Floats) -> Reference:
        """Return the reference of several intervals, arrays [K]. t_s: [K + 1], rising."""
        begin_s, end_s = t_s[:-1], np.maximum(t_s[1:], t_s[:-1] + SHORTEST_S)
        if self._capacity is None or t_s[-1] > self._capacity.t_s[-1]:
            self._capacity = capacity_until(self._path, t_s[-1])
        capacity_mbps = self._capacity.between(begin_s, end_s) / (end_s - begin_s)
        flows = np.maximum(np.count_nonzero(self._starts_s[:, None] <= end_s, axis=0), 1)
        rtt_ms = base_rtt_ms(self._path, end_s, self._client) + self._serialization_ms
        return Reference(capacity_mbps / flows, rtt_ms, self._path.loss_pct / 100, flows > 1)

    def of_interval(self, begin_s: float, end_s: float) -> Reference:
        """Return the reference of one interval, numbers. Cheap enough to be called at every step of an environment."""
        changes = bisect.bisect_right(self._changes_s, begin_s)
        if self._path.trace or self._path.delay_trace or changes != bisect.bisect_right(self._changes_s, end_s):
            return self._of_interval(begin_s, end_s)
        if changes not in self._constant:
            self._constant[changes] = self._of_interval(begin_s, end_s)
        return self._constant[changes]

    def _of_interval(self, begin_s: float, end_s: float) -> Reference:
        arrays = self.over(np.array([begin_s, end_s]))
        return Reference(*(np.ravel(array)[0].item() for array in arrays))


def _packet_ms(path: Path) -> float:
    """Return the time that a full packet takes on the bottleneck's link at its first rate, ms; 0 on a loopback path."""
    return PACKET_BYTES * 8 / (path.rate_mbps * 1e3) if path.topology == "router" else 0.0
