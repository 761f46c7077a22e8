"""The lab's network has the configured delay, rate, loss and buffer, as a packet capture without TCP shows."""

from __future__ import annotations

from pathlib import Path as FilePath

import numpy as np
import pytest

from env.lab import Lab
from env.network.clock import VIRTUAL
from env.network.path import Path
from studies.lab.network_accuracy import (
    CLOCK_NS,
    LINKS,
    arrivals_of,
    impaired,
    measure_bottleneck,
    measure_delay,
    measure_rate,
    measure_share,
    probe,
    probe_command,
    transmission_ns,
)
from tests.support.guest import shell
from tests.support.labs import shared_lab

pytestmark = pytest.mark.timeout(600)
TOPOLOGIES = pytest.mark.parametrize("topology", ["router", "loopback"])
# when the next run begins: Clock.next_origin_ns(), on CLOCK_REALTIME
ORIGIN = f"""$(python3 -c 'import time; now = time.monotonic_ns()
origin = -(-(now + {round(VIRTUAL.preparation_s * 1e9)}) // {VIRTUAL.grid_ns}) * {VIRTUAL.grid_ns}
print(origin + time.time_ns() - now)')"""
# for a share of 50 %, 3 standard deviations are 0.95 % of it: this number of packets can tell 1 %
PACKETS = 100_000


lab = shared_lab(memory_mb=1024, timeout_s=300)


@TOPOLOGIES
def test_delay(lab: Lab, topology: str) -> None:
    (mean,) = measure_delay(lab, topology, 20, 0, 1_000)
    # reading the clock and the timer add less than 1 us
    assert 20 <= mean.measured < 20.001


@TOPOLOGIES
def test_jitter_has_the_configured_mean_and_deviation(lab: Lab, topology: str) -> None:
    mean, deviation = measure_delay(lab, topology, 20, 4, PACKETS)
    assert abs(mean.error) < 0.01
    assert abs(deviation.error) < 0.01


@TOPOLOGIES
@pytest.mark.parametrize("kind", ["loss", "duplicate", "reorder"])
def test_shares_of_packets(lab: Lab, topology: str, kind: str) -> None:
    half = measure_share(lab, topology, kind, 50, PACKETS)
    assert half.sampling < 0.01
    assert abs(half.error) < 0.01
    # for a share of 1 % this number of packets can tell 9.4 %
    small = measure_share(lab, topology, kind, 1, PACKETS)
    assert abs(small.error) < small.sampling < 0.1


@TOPOLOGIES
@pytest.mark.parametrize("rate_mbps", [1, 20, 1000, 10_000])
def test_rate(lab: Lab, topology: str, rate_mbps: float) -> None:
    assert abs(measure_rate(lab, topology, rate_mbps, 5_000).error) < 0.001


@TOPOLOGIES
def test_unimpaired_packets_arrive_once_and_in_order(lab: Lab, topology: str) -> None:
    arrivals = probe(lab, impaired(topology), 20_000, size_bytes=64, interval_ns=10_000)
    assert np.array_equal(arrivals.number, np.arange(20_000))


@pytest.mark.parametrize(("rate_mbps", "rtt_ms"), LINKS)
@pytest.mark.parametrize("buffer_bdp", [0.2, 8])
def test_bottleneck_has_the_configured_rate_and_buffer(
    lab: Lab, rate_mbps: float, rtt_ms: float, buffer_bdp: float
) -> None:
    bottleneck = measure_bottleneck(lab, rate_mbps, rtt_ms, buffer_bdp)
    assert bottleneck.held_packets == bottleneck.buffer_packets
    assert bottleneck.lost == bottleneck.dropped > 0
    assert bottleneck.spacing_error_ns <= CLOCK_NS


def test_packets_leave_singly_after_a_pause(lab: Lab) -> None:
    arrivals = probe(lab, Path(rate_mbps=20, rtt_ms=40), 60, burst=20, interval_ns=1_000_000_000)
    gaps_ns = np.diff(arrivals.captured_ns)
    # the first packet of a burst leaves when it arrives; each of the others takes the wire's time
    gaps_ns = np.delete(gaps_ns, [19, 39])
    # an idle link has collected tokens for one microsecond
    assert np.abs(gaps_ns - transmission_ns(20)).max() <= 1_000


def test_reordering_happens_before_the_bottleneck(lab: Lab) -> None:
    path = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=1, reorder_pct=10)
    arrivals = probe(lab, path, 10_000, interval_ns=round(transmission_ns(20) / 2), wait_s=5)
    gaps_ns = np.diff(arrivals.captured_ns)
    assert arrivals.overtaking(20e6) > 0
    # the gaps are not shorter than the wire's time
    assert gaps_ns.min() >= transmission_ns(20) - 1_000
    # once the queue has grown, the link is never idle
    assert np.median(gaps_ns) == pytest.approx(transmission_ns(20), abs=CLOCK_NS)


def test_only_the_buffer_drops_or_queues(lab: Lab) -> None:
    bottleneck = measure_bottleneck(lab, 1000, 4, 1)
    assert bottleneck.lost == bottleneck.dropped > 0
    for node, device in (("h1", "h1-r"), ("r", "r-h1"), ("r", "r-h2"), ("h2", "h2-r")):
        statistics = f"/sys/class/net/{device}/statistics"
        counters = lab.call(
            "execute", node=node, argv=["sh", "-c", f"cat {statistics}/*x_dropped {statistics}/*x_errors"]
        )
        assert set(counters.split()) == {"0"}, (node, device, counters)
    # the kernel's own queue of packets received: second column of softnet_stat
    softnet = lab.call("execute", node="r", argv=["cat", "/proc/net/softnet_stat"])
    assert [line.split()[1] for line in softnet.splitlines()] == ["00000000"]


def test_a_delay_trace_is_followed_without_reordering(lab: Lab, tmp_path: FilePath) -> None:
    file = tmp_path / "steps.delay"
    # 10 ms, 50 ms, then down to 2.5 ms: each for 100 ms; the trace repeats after 300 ms
    delays_ms = np.repeat([10, 50, 2.5], 10)
    file.write_text("".join(f"{delay:g}\n" for delay in delays_ms))
    path = Path(rate_mbps=10_000, delay_trace=str(file), buffer_bdp=100)
    lab.call("build", topology=path.network)
    command = probe_command(lab, path.topology, 600, size_bytes=64, interval_ns=1_000_000, start=ORIGIN)
    shell(lab, f"({command}) >/run/printed 2>&1 &")
    lab.run(path, [{"scheme": "cubic", "start_s": 2.5, "duration_s": 0.1}], 2.7)
    arrivals = arrivals_of(600, shell(lab, "sleep 1; cat /run/printed"))
    assert arrivals.number.tolist() == list(range(600)), "in order, and none is lost"
    delay_ms = arrivals.delay_ns / 1e6
    sent_ms = (arrivals.sent_ns - arrivals.sent_ns[0]) / 1e6
    # a packet that is sent when the delay falls waits for those before it; a change may be a millisecond late
    settled = np.ones(600, bool)
    for change_ms in range(0, 600, 100):
        settled[change_ms : change_ms + (50 if change_ms % 300 == 200 else 2)] = False
    expected_ms = delays_ms[(sent_ms / 10).astype(int) % 30]
    assert delay_ms[settled] == pytest.approx(expected_ms[settled], abs=0.01)
    overlapping = delay_ms[202:248]
    assert (np.diff(overlapping) < 0).all(), "all leave when the last one with the long delay does"
    assert overlapping[0] == pytest.approx(48, abs=1.1)
