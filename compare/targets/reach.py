"""The best figures that a sender can have: the physical bounds of requirements, pure functions of a scenario.

The ideal sender knows the path. It has the limits of any sender in the lab: its first window is ten packets, it hears
of a change one round trip later, and once per round trip it at most doubles its window or leaves a sixteenth of it, as
an action of NDM does (kernel/ndm/ndm_window.h).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from compare.experiment.experiment import flows_under_test
from compare.targets.response import DRAINED, USE_ROUND_TRIPS, USED, RateStep, rate_steps
from env.network.capacity import PAYLOAD_SHARE, link_capacity
from env.network.path import PACKET_BYTES, Path
from env.network.rack import Rack
from env.network.scenario import Scenario

Reach = Callable[[Scenario], float]  # the best figure in a scenario

FIRST_WINDOW = 10  # packets: TCP_INIT_CWND, RFC 6928
LEAST_FACTOR = 1 / 16  # of a window, in one decision
HELD_PACKETS = 3  # one on the wire, and two that a delayed ACK releases, on a link that is never idle
GRID = 1000  # points per round trip, for the time in which a rate is used


def named(best: str | float) -> Reach:
    """Return the bound of a requirement of configs/targets.yaml: the function with a name, or a constant."""
    bounds: dict[str | float, Reach] = {
        "goodput_mbps": goodput_mbps,
        "idle_pct": idle_pct,
        "latency_us": latency_us,
        "left_to_others": left_to_others,
        "one_packet_ms": one_packet_ms,
        "power_mbps_per_ms": power_mbps_per_ms,
        "round_trips_to_drain": round_trips_to_drain,
        "round_trips_to_use": round_trips_to_use,
        "single_flow": single_flow,
        "utilisation_pct": utilisation_pct,
    }
    return bounds[best] if isinstance(best, str) else always(best)


def always(best: float) -> Reach:
    """Return the same bound for all scenarios: 1 for a Jain index, 0 for lost packets."""
    return lambda _: best


def one_packet_ms(scenario: Scenario) -> float:
    """Return the least p95 queueing delay, ms: a delayed ACK releases two packets, and one waits for the other."""
    return PACKET_BYTES * 8 / (scenario.network_path().rate_mbps * 1e3)


def three_packets_ms(scenario: Scenario) -> float:
    """Return the time in which the bottleneck sends three packets, ms, with which a link need not be idle."""
    return HELD_PACKETS * one_packet_ms(scenario)


def left_to_others(scenario: Scenario) -> float:
    """Return the largest goodput over fair share of the flows that are not under test: they have the link alone."""
    under_test = flows_under_test(scenario)
    return len(under_test) / max(len(under_test) - sum(under_test), 1)


def utilisation_pct(scenario: Scenario) -> float:
    """Return the largest utilisation, %: the flows double their windows until the path is full.

    100 on a path without a constant rate and RTT: those of a trace or a rack, of loopback, or with a policer.
    """
    path = scenario.network
    if not isinstance(path, Path) or path.trace or path.topology == "loopback" or path.police_mbps or path.steps:
        return 100.0
    rtt_s, bdp_packets = path.rtt_ms / 1e3, path.bdp_bytes / PACKET_BYTES
    starts_s = [flow.start_s for flow in scenario.flows for _ in range(flow.count)]
    first_s = min(starts_s)
    t_s = first_s + rtt_s * (0.5 + np.arange(math.ceil((scenario.duration_s - first_s) / rtt_s)))
    share = np.zeros(t_s.size)
    for start_s in starts_s:
        # the first window arrives after the handshake and half of a round trip
        rounds = np.floor((t_s - start_s) / rtt_s - 0.5)
        share += np.where(rounds >= 1, FIRST_WINDOW * 2.0 ** np.clip(rounds - 1, -1, 40), 0) / bdp_packets
    return 100 * float(np.minimum(share, 1).mean())


def idle_pct(scenario: Scenario) -> float:
    """Return the smallest share of the time in which the link is idle, %."""
    return 100 - utilisation_pct(scenario)


def goodput_mbps(scenario: Scenario) -> float:
    """Return the largest goodput of a flow, Mbit/s: the mean capacity, less random loss."""
    path = scenario.network_path()
    if path.topology == "loopback":
        return path.rate_mbps
    carried = float(link_capacity(path, scenario.duration_s).between(0, scenario.duration_s)) / scenario.duration_s
    limited = min(carried, path.police_mbps * PAYLOAD_SHARE) if path.police_mbps else carried
    return limited * utilisation_pct(scenario) / 100 * (1 - path.loss_pct / 100)


def power_mbps_per_ms(scenario: Scenario) -> float:
    """Return the largest goodput over mean RTT, Mbit/s/ms: that without a queue."""
    return goodput_mbps(scenario) / scenario.network_path().rtt_ms


def single_flow(scenario: Scenario) -> float:
    """Return the largest goodput^2 over mean RTT, (Mbit/s)^2 / ms."""
    return goodput_mbps(scenario) * power_mbps_per_ms(scenario)


def latency_us(scenario: Scenario) -> float:
    """Return the least p99 latency of the requests, us: the link sends the largest at once, after a round trip.

    Requests without a pause share the link: on average each takes at least as long as the link takes for all of them.
    """
    network = scenario.network
    if isinstance(network, Rack):
        rate_mbps, rtt_us = network.frame_mbps, network.rtt_us
    else:
        path = scenario.network_path()
        rate_mbps, rtt_us = path.rate_mbps, path.rtt_ms * 1e3
    requests = [flow for flow in scenario.flows if flow.kind == "request"]
    largest = max(flow.size_bytes for flow in requests)
    at_once = sum(flow.size_bytes * flow.count for flow in requests if not flow.pause_ms)
    per_byte_us = 8 / rate_mbps
    return max(rtt_us + largest * per_byte_us, at_once * per_byte_us)


def round_trips_to_use(scenario: Scenario) -> float:
    """Return the least round trips from an increase of the rate until 95 % of it is used, for the slowest increase.

    The queue is empty at the step, and the sender doubles its rate in each round trip after the first one.
    compare/targets/response.py has the figure.
    """
    return max((_to_use(step.after_mbps / step.before_mbps) for step in _steps(scenario, up=True)), default=0.0)


def round_trips_to_drain(scenario: Scenario) -> float:
    """Return the least round trips from a decrease of the rate until the queue is drained, for the slowest decrease.

    The link is in use without a queue at the step. For one round trip of the empty path the old window meets the new
    rate. Then nothing is sent until the queue is a quarter of that round trip. A round trip lasts as long as the path
    takes, with its queue.
    """
    return max((_to_drain(step.before_mbps / step.after_mbps) for step in _steps(scenario, up=False)), default=0.0)


def _steps(scenario: Scenario, *, up: bool) -> Iterator[RateStep]:
    steps = rate_steps(scenario.network_path(), scenario.duration_s)
    return (step for step in steps if (step.after_mbps > step.before_mbps) is up)


def _to_use(factor: float) -> float:
    rounds = 2 + math.ceil(math.log2(factor))
    t = np.arange((rounds + USE_ROUND_TRIPS) * GRID) / GRID
    used = np.minimum(2.0 ** np.floor(t) / factor, 1)
    sums = np.concatenate([[0.0], np.cumsum(used)]) / GRID
    width = USE_ROUND_TRIPS * GRID
    return float(np.argmax(sums[width:] - sums[:-width] >= USED * USE_ROUND_TRIPS) / GRID)


def _to_drain(factor: float) -> float:
    growing = math.log(factor) / (factor - 1)  # round trips while the queue grows to factor - 1 empty ones
    rounds = math.ceil(math.log(factor, 1 / LEAST_FACTOR))  # decisions until the window fits
    return growing + max(math.log(factor / (1 + DRAINED)), 0) + max(rounds - 1, 0)
