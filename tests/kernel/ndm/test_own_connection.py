"""How the shipped model uses a path of its own: one with jitter, a longer route, a receiver that delays ACKs."""

from __future__ import annotations

import numpy as np
import pytest

from compare.metrics.flow_metrics import goodput_mbps
from env.lab import FlowResult, Lab
from env.network.path import Path
from env.network.scenario import load_scenario
from env.network.step import Step
from tests.support.guest import run_program, shell
from tests.support.labs import shared_lab

pytestmark = pytest.mark.timeout(300)
SEEDS = (1, 2, 3)
# the namespaces of in_guest.py; a packet of its own for each segment, so that the receiver can delay ACKs
NAMESPACES = """set -e
mkdir -p /run/netns
ip netns add near && ip netns add far
ip link add near netns near type veth peer name far netns far
ip -n near address add 192.0.2.1/24 dev near && ip -n far address add 192.0.2.2/24 dev far
for end in near far; do ip -n $end link set $end up; ip -n $end link set $end gso_max_segs 1; done
"""

lab = shared_lab("tcp_ndm", timeout_s=200, setup=lambda lab: shell(lab, NAMESPACES))


def rate_mbps(flow: FlowResult, begin_s: float, end_s: float) -> float:
    """Return what the flow's receiver has acknowledged between two times."""
    begin, end = np.searchsorted(flow.sender["t_s"], [begin_s, end_s])
    acked = flow.sender["bytes_acked"]
    return float((acked[end] - acked[begin]) * 8 / 1e6 / (end_s - begin_s))


@pytest.mark.parametrize(("rate", "jitter_ms", "least_mbps"), [(100, 4, 70), (20, 4, 14.5)])
def test_jitter_in_order_is_no_queue(lab: Lab, rate: float, jitter_ms: float, least_mbps: float) -> None:
    path = Path(rate_mbps=rate, rtt_ms=30, buffer_bdp=2, jitter_ms=jitter_ms, jitter_reorders=False)
    flow = {"scheme": "ndm", "start_s": 0, "duration_s": 30}
    # at 100 Mbit/s the standard deviation of one run is 8 Mbit/s, and with Linux 6.8 10 Mbit/s
    runs = [lab.run(path, [flow], 30, sample_ms=0, seed=seed) for seed in range(1, 17)]
    rates_mbps = [goodput_mbps(run.flows[0]) for run in runs]
    assert np.mean(rates_mbps) >= least_mbps, rates_mbps
    assert min(rates_mbps) >= 0.4 * rate, rates_mbps


@pytest.mark.parametrize(
    ("name", "least_mbps"), [("internet/route_5ms", 43), ("internet/route_50ms", 43)], ids=["5 ms", "50 ms"]
)
def test_longer_route_is_used_ten_seconds_later(lab: Lab, name: str, least_mbps: float) -> None:
    """The route becomes longer at 20 s, and shorter at 40 s, on a link of 50 Mbit/s."""
    scenario = load_scenario(name)
    result = lab.run(scenario.network_path(), scenario.flows_with("ndm"), scenario.duration_s, sample_ms=100, seed=1)
    for begin_s, end_s in ((10, 19), (30, 39), (50, 59)):
        assert rate_mbps(result.flows[0], begin_s, end_s) >= least_mbps, (begin_s, end_s)


@pytest.mark.parametrize(("rtt_ms", "longer_ms"), [(20, 200), (10, 100), (20, 80)])
def test_much_longer_route_is_used_five_seconds_later(lab: Lab, rtt_ms: float, longer_ms: float) -> None:
    """The route becomes longer at 20 s, on a link of 50 Mbit/s with a buffer of 4 BDP."""
    path = Path(rate_mbps=50, rtt_ms=rtt_ms, buffer_bdp=4, steps=(Step(at_s=20, rtt_ms=longer_ms),))
    flow = {"scheme": "ndm", "start_s": 0, "duration_s": 31, "stagger_s": 0.2}
    for seed in SEEDS:
        result = lab.run(path, [flow], 31, sample_ms=100, seed=seed)
        assert rate_mbps(result.flows[0], 25, 30) >= 42, seed


def ms_for_a_megabyte(lab: Lab, scheme: str) -> float:
    """Return the time that 1 MB takes after small requests, at 100 Mbit/s and 10 ms; the receiver delays its ACKs."""
    program = f"""
        link("delay 5ms rate 100mbit", "delay 5ms")
        sender, receiver = connect_far("{scheme}")
        for _ in range(10):
            send(sender, receiver, 100)
            send(receiver, sender, 1)
            time.sleep(0.01)
        begin_ns = time.monotonic_ns()
        send(sender, receiver, 1_000_000)
        print((time.monotonic_ns() - begin_ns) / 1e6)
    """
    return float(run_program(lab, program))


def test_delayed_acks_do_not_end_slow_start(lab: Lab) -> None:
    assert ms_for_a_megabyte(lab, "ndm") <= 1.05 * ms_for_a_megabyte(lab, "cubic")
