"""The search for a path's best constant window. Pure: the lab makes the runs (compare/experiment/oracle.py).

All flows under test have the same window. A window's goodput is their total, mean over the seeds of the search. The
best window is the smallest one with a goodput within 1 % of the highest. The search first tries the powers of two up to
what the path can hold. Then it tries the geometric mean of neighbouring windows: on both sides of the highest goodput,
unless the goodput is flat there, and below the best window so far, until neighbours are 10 % apart. It uses three
seeds. If these differ, windows with a seed within 1 % of the highest mean are run with ten seeds, and the search
continues around the new best window.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from env.network.chain import Chain
from env.network.networks import Network
from env.network.path import IP_BYTES, PACKET_BYTES
from env.network.rack import Rack
from env.network.schemes import MAX_PACKETS
from env.network.topology.links import STOCK_BUFFERS, WIDE_BUFFERS
from env.network.traces.delay import load_delay_trace

WITHIN = 0.01  # largest difference from the highest goodput, as a share
RESOLUTION = 1.1  # smallest ratio of neighbours that are refined
# None of a comparison's seeds, 1 to 10,000: a seed that selects a window must not measure it.
SEEDS = tuple(range(20_001, 20_011))
SCOUTS = 3  # number of seeds for every window
MARGIN = 2  # factor above what a path holds on average, because rate and delay vary
JITTER_WIDTHS = 4  # standard deviations at which netem's normal distribution ends
LOOPBACK_SEGMENT_BYTES = 65_483  # MSS on lo


def settings() -> dict[str, Any]:
    """Return the settings that the result depends on, as plain data."""
    return {
        "seeds": list(SEEDS),
        "scouts": SCOUTS,
        "within": WITHIN,
        "resolution": RESOLUTION,
        "margin": MARGIN,
    }


def largest_window(network: Network) -> int:
    """Return the largest window to try, packets: twice what path and queues hold, within the receiver's buffer."""
    if isinstance(network, Rack):
        held_bytes = network.rate_mbps * network.rtt_us / 8 + (network.buffer_kb + network.host_queue_kb * 1.024) * 1e3
        return _limited(MARGIN * held_bytes / IP_BYTES)
    if isinstance(network, Chain):
        paths = [network.link_path(i) for i in range(len(network.links))]
        held = max(path.bdp_bytes for path in paths) / PACKET_BYTES + sum(path.buffer_packets for path in paths)
        return _limited(min(MARGIN * held, _receive_bytes(WIDE_BUFFERS) / IP_BYTES))
    if network.topology == "loopback":
        return _limited(_receive_bytes(STOCK_BUFFERS) / LOOPBACK_SEGMENT_BYTES)
    paths = [network]
    for step in network.steps:
        paths.append(paths[-1].after(step))
    rate_mbps = max(path.rate_mbps for path in paths)
    rtts_ms = [2 * max(load_delay_trace(network.delay_trace).delays_ms)] if network.delay_trace else []
    rtt_ms = max([*rtts_ms, *(path.rtt_ms for path in paths)]) + max(network.client_extra_rtt_ms, default=0.0)
    delay_ms = rtt_ms + JITTER_WIDTHS * network.jitter_ms
    held = rate_mbps * 1e3 / 8 * delay_ms / PACKET_BYTES + network.buffer_packets
    return _limited(min(MARGIN * held, _receive_bytes(WIDE_BUFFERS) / IP_BYTES))


def _receive_bytes(sysctls: dict[str, str]) -> int:
    return int(sysctls["net.ipv4.tcp_rmem"].split()[2])


def _limited(packets: float) -> int:
    return min(max(math.ceil(packets), 2), MAX_PACKETS)


class WindowSearch:
    """The search for one scenario. It depends only on the goodputs: the same goodputs lead to the same windows.

    largest: the largest window to try, packets. tried: window in packets to the goodput of each seed in Mbit/s; None
    for a failed run, which excludes the window.
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.tried: dict[int, dict[int, float | None]] = {}

    def next_runs(self) -> list[tuple[int, int]]:
        """Return window and seed of the next round of runs; none at the end of the search."""
        if not self.tried:
            windows = [*(1 << power for power in range((self.largest - 1).bit_length())), self.largest]
        else:
            windows = self._between()
        if windows:
            return [(packets, seed) for packets in windows for seed in SEEDS[:SCOUTS]]
        return [(packets, seed) for packets in self._uncertain() for seed in SEEDS[SCOUTS:]]

    def means(self) -> dict[int, float]:
        """Return the mean goodput of each window without a failed run, Mbit/s, in the order of the windows."""
        means = {}
        for packets in sorted(self.tried):
            values = [mbps for mbps in self.tried[packets].values() if mbps is not None]
            if len(values) == len(self.tried[packets]):
                means[packets] = math.fsum(values) / len(values)
        return means

    def best(self) -> int | None:
        """Return the best window so far, packets; None when every window had a failed run."""
        means = self.means()
        if not means:
            return None
        enough = (1 - WITHIN) * max(means.values())
        return min(packets for packets, mbps in means.items() if mbps >= enough)

    def _between(self) -> list[int]:
        """Return the windows of the next refinement."""
        means, best = self.means(), self.best()
        if best is None:
            return []
        highest = max(means, key=lambda packets: means[packets])
        enough = (1 - WITHIN) * means[highest]
        windows = []
        for low, high in pairwise(sorted(self.tried)):
            at_top = highest in (low, high) and min(means.get(low, 0.0), means.get(high, 0.0)) < enough
            if (at_top or high == best) and high > low + 1 and high > low * RESOLUTION:
                windows.append(min(max(round(math.sqrt(low * high)), low + 1), high - 1))
        return windows

    def _uncertain(self) -> list[int]:
        """Return the windows that need ten seeds: the three seeds differ, and one is near the highest mean."""
        means = self.means()
        enough = (1 - WITHIN) * max(means.values(), default=0.0)
        uncertain = []
        for packets in means:
            values = [mbps for mbps in self.tried[packets].values() if mbps is not None]
            if len(values) == SCOUTS and max(values) >= enough and min(values) < (1 - WITHIN) * max(values):
                uncertain.append(packets)
        return uncertain
