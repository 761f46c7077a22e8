"""Router paths in the lab: each option has its effect, measured on the wire or by TCP."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from env.lab import GuestFailed, Lab, RunResult
from env.network.path import Path
from env.network.topology import shaper
from env.network.traces.format import load_trace
from tests.support.guest import HEAD, shell
from tests.support.labs import shared_lab

# A program that sends UDP packets to the node whose namespace is given. It prints when it sent each packet, and
# [number, time] of those that arrived; times in ns of CLOCK_MONOTONIC.
PROBE = """
with inside("{namespace}"):
    receiver = measuring_socket(socket.AF_INET)
receiver.bind(("10.0.2.1", 9000))
sender = measuring_socket(socket.AF_INET)
packets = [(number * {gap_us} * 1000, {size} - 28) for number in range({packets})]
sent = send_numbered(sender, ("10.0.2.1", 9000), time.monotonic_ns() + 1_000_000, packets)
time.sleep(5)
print(json.dumps([sent, received_numbers(receiver)]))
"""


SHAPER = FilePath(shaper.__file__)

lab = shared_lab()


def bulk(path: Path, lab: Lab, duration_s: float = 5.0, **flow: Any) -> RunResult:
    flows = [{"scheme": "cubic", "start_s": 0, "duration_s": duration_s} | flow]
    return lab.run(path, flows, duration_s, sample_ms=10, describe=True)


def goodput_mbps(run: RunResult, index: int = 0) -> float:
    flow = run.flows[index]
    return float(flow.received_bytes * 8 / flow.duration_s / 1e6)


def probe(lab: Lab, path: Path, packets: int, gap_us: int, size: int = 1500) -> tuple[Any, Any, list[int]]:
    """Apply the path and send UDP packets over it, which no congestion control slows down."""
    bulk(path, lab, 0.1)
    target = lab.call("execute", node="h2", argv=["sh", "-c", "readlink /proc/self/ns/net"]).strip()
    command = f"for n in /proc/[0-9]*/ns/net; do [ \"$(readlink $n)\" = '{target}' ] && echo $n; done | head -1"
    code = PROBE.format(namespace=shell(lab, command), gap_us=gap_us, size=size, packets=packets)
    sent, arrivals = json.loads(lab.call("execute", node="h1", argv=["/usr/bin/python3", "-c", HEAD + code]))
    received = np.full(packets, np.nan)
    for number, time_ns in reversed(arrivals):
        received[number] = time_ns
    return np.array(sent, float), received, [number for number, _ in arrivals]


# -- the rate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate_mbps", "shown"), [(20, "20Mbit"), (50_000, "50Gbit")])
def test_the_kernel_has_the_rate(lab: Lab, rate_mbps: float, shown: str) -> None:
    bulk(Path(rate_mbps=rate_mbps), lab, 0.1)
    classes = lab.call("execute", node="r", argv=["tc", "class", "show", "dev", "r-h2"])
    (only,) = (line for line in classes.splitlines() if line.startswith("class htb"))
    assert only.startswith(f"class htb 2:1 root leaf 3: prio 0 rate {shown} ceil {shown} burst")


def test_a_rate_that_cannot_be_set_is_an_error(lab: Lab) -> None:
    bulk(Path(), lab, 0.1)
    code = """
sockets = ShaperSocket("/proc/self/ns/net")
for device, major in (("r-h9", 2), ("r-h2", 7), ("r-h2", 2)):
    try:
        sockets.set(Shaper(device, major, 10**7, 3, 1514))
        print("set")
    except OSError as error:
        print(error.strerror)
"""
    head = f"import sys\nsys.path.insert(0, {str(SHAPER.parent)!r})\nfrom shaper import Shaper, ShaperSocket\n"
    printed = lab.call("execute", node="r", argv=["/usr/bin/python3", "-c", head + code])
    assert printed.splitlines() == ["No such device", "No such file or directory", "set"]


# -- the link of a trace -----------------------------------------------------------------------------------------------


def test_goodput_follows_the_trace_over_time(lab: Lab) -> None:
    path = Path(trace="held_out/lte-walking", rtt_ms=20, buffer_bdp=20)
    run = bulk(path, lab, 20.0)
    times_ms = np.array(load_trace(path.trace).times_ms, dtype=np.int64)
    rows = run.flows[0].receiver.rows
    t_s, received = rows[:, 0], rows[:, 1]
    for from_s, to_s in ((5.0, 6.0), (10.0, 12.0), (12.0, 20.0)):
        # half the round trip after the delivery, and the headers of 52 bytes
        within = (times_ms > (from_s - 0.01) * 1e3) & (times_ms <= (to_s - 0.01) * 1e3)
        got = np.interp(to_s, t_s, received) - np.interp(from_s, t_s, received)
        assert got == pytest.approx(within.sum() * 1448, rel=0.02, abs=20 * 1448)


def test_a_trace_of_the_hosts_tmp_begins_with_the_run(lab: Lab, tmp_path: FilePath) -> None:
    file = tmp_path / "late.trace"  # the guest has a /tmp of its own
    file.write_text("".join(f"{ms}\n" for ms in range(1000, 2001)))
    run = bulk(Path(trace=str(file), rtt_ms=20), lab, 2.0)
    rows = run.flows[0].receiver.rows
    # the SYN goes through at 1000 ms, data a round trip later
    first_s = rows[rows[:, 1] > 0][0, 0]
    assert 1.02 <= first_s <= 1.05


def test_a_changed_trace_file_is_handed_over_again(lab: Lab, tmp_path: FilePath) -> None:
    file = tmp_path / "changed.trace.gz"
    rates = []
    for gap_ms in (1, 4):
        file.write_bytes(gzip.compress("".join(f"{ms}\n" for ms in range(0, 1001, gap_ms)).encode()))
        rates.append(goodput_mbps(bulk(Path(trace=str(file), rtt_ms=20), lab, 3.0)))
    assert rates[0] > 3 * rates[1]


# -- impairments -------------------------------------------------------------------------------------------------------


def test_losses_come_in_bursts_of_configured_length(lab: Lab) -> None:
    path = Path(rate_mbps=200, loss_pct=4, loss_burst_packets=5)
    _, received, _ = probe(lab, path, 40_000, 100, size=60)
    lost = np.isnan(received)
    begins = np.count_nonzero(lost[1:] & ~lost[:-1])
    # 320 bursts of 5: within 3 standard errors
    assert lost.mean() == pytest.approx(0.04, rel=0.25)
    assert lost.sum() / begins == pytest.approx(5, rel=0.2)


@pytest.mark.parametrize("reorders", [True, False])
def test_jitter_with_and_without_reordering(lab: Lab, reorders: bool) -> None:
    path = Path(rate_mbps=200, jitter_ms=3, jitter_reorders=reorders)
    sent, received, order = probe(lab, path, 2000, 1000)
    delays_ms = (received - sent) / 1e6
    assert delays_ms.std() > 1
    swapped = sum(after < before for before, after in pairwise(order))
    assert (swapped > 200) if reorders else (swapped == 0)


def test_reordering_with_a_gap(lab: Lab) -> None:
    # after four packets each one overtakes the delay line with a probability of one half: one in six does
    _, _, order = probe(lab, Path(rate_mbps=200, reorder_pct=50, reorder_gap=5), 2000, 1000)
    places = {index: place for place, index in enumerate(order)}
    early = [index for index in range(2000) if places[index] < index - 5]
    assert len(early) / 2000 == pytest.approx(1 / 6, rel=0.1)


def test_policer_drops_the_excess_without_delay(lab: Lab) -> None:
    path = Path(rate_mbps=100, rtt_ms=20, police_mbps=10, police_burst_kb=30)
    # 20 Mbit/s of frames for 4 s: half passes
    sent, received, _ = probe(lab, path, 6600, 606)
    assert np.isnan(received).mean() == pytest.approx(0.5, abs=0.02)
    delays_ms = (received - sent)[~np.isnan(received)] / 1e6
    assert delays_ms.max() < 10.5
    assert path.reference_mbps == 10
    unpoliced = bulk(Path(rate_mbps=100, rtt_ms=20), lab)
    assert not any("clsact" in qdisc for qdisc in unpoliced.environment["qdiscs"])


def test_narrow_return_path_queues_and_drops_acks(lab: Lab) -> None:
    free = bulk(Path(rate_mbps=50, rtt_ms=40, buffer_bdp=0.5), lab)
    narrow = bulk(Path(rate_mbps=50, rtt_ms=40, buffer_bdp=0.5, ack_rate_mbps=0.5, ack_buffer_packets=25), lab)
    assert "dropped 0" in free.environment["qdiscs"][1]
    assert "pfifo" in narrow.environment["qdiscs"][1]
    backward = narrow.environment["qdiscs"][1].split("qdisc pfifo")[1]
    assert int(backward.split("dropped ")[1].split(",")[0]) > 0


# -- marking -----------------------------------------------------------------------------------------------------------


def test_dctcp_holds_the_queue_at_the_marking_threshold(lab: Lab) -> None:
    run = bulk(Path(rate_mbps=50, rtt_ms=20, buffer_bdp=8, qdisc="step", ecn=True, mark_ms=4), lab, scheme="dctcp")
    flow = run.flows[0]
    srtt_ms = flow.sender["srtt_us"][100:] / 1e3
    assert flow.retransmits == 0
    assert 20 < srtt_ms.mean() < 27
    assert goodput_mbps(run) > 40
    assert int(run.environment["qdiscs"][0].split("ce_mark ")[1].split()[0]) > 100


def test_red_marks_with_ecn_and_drops_without(lab: Lab) -> None:
    marked = bulk(Path(qdisc="red", ecn=True, buffer_bdp=4), lab, 10.0)
    dropped = bulk(Path(qdisc="red", buffer_bdp=4), lab, 10.0)
    assert "marked" in marked.environment["qdiscs"][0]
    assert marked.flows[0].retransmits == 0
    assert dropped.flows[0].retransmits > 0


# -- in the middle of a run, and several senders -----------------------------------------------------------------------


def test_steps_come_at_their_time(lab: Lab) -> None:
    steps = [{"at_s": 4, "rate_mbps": 5}, {"at_s": 8, "rate_mbps": 20, "rtt_ms": 140}]
    run = bulk(Path.from_dict({"rate_mbps": 20, "rtt_ms": 40, "steps": steps}), lab, 16.0)
    rows = run.flows[0].receiver.rows

    def rate_mbps(from_s: float, to_s: float) -> float:
        return float((np.interp(to_s, *rows.T) - np.interp(from_s, *rows.T)) * 8 / (to_s - from_s) / 1e6)

    assert rate_mbps(2.0, 3.99) == pytest.approx(20 * 1448 / 1514, rel=0.05)
    assert rate_mbps(4.05, 7.5) == pytest.approx(5 * 1448 / 1514, rel=0.02)
    sender = run.flows[0].sender
    assert sender["srtt_us"][sender["t_s"] > 12].min() >= 135e3
    # the next run starts without the steps
    assert bulk(Path(), lab).flows[0].sender["min_rtt_us"][-1] == pytest.approx(40e3, rel=0.01)


def test_step_comes_within_a_millisecond(lab: Lab) -> None:
    # at 1.01 s the sixth round begins, whose packets enter for 4 ms
    path = Path.from_dict({"rate_mbps": 1000, "rtt_ms": 10, "steps": [{"at_s": 1.0105, "loss_pct": 100}]})
    run = lab.run(path, [{"scheme": "cubic", "start_s": 0.95, "duration_s": 1}], 2.0, sample_ms=1)
    rows = run.flows[0].receiver.rows
    grew = rows[1:][np.diff(rows[:, 1]) > 0]
    # the packets that entered before 1.0105 s are through the delay by 1.0155 s, and the queue adds up to 1 ms
    assert 1.0155 <= grew[-1, 0] <= 1.0175


def test_each_client_has_its_own_round_trip(lab: Lab) -> None:
    path = Path(rate_mbps=100, rtt_ms=20, client_extra_rtt_ms=(0, 20, 140))
    flows = [{"scheme": "reno", "start_s": i, "duration_s": 1, "client": i + 1} for i in range(3)]
    run = lab.run(path, flows, 4.0, sample_ms=10)
    for flow, rtt_ms in zip(run.flows, (20, 40, 160), strict=True):
        assert flow.sender["min_rtt_us"][-1] == pytest.approx(rtt_ms * 1e3, rel=0.005)


def test_unequal_round_trips_get_unequal_shares(lab: Lab) -> None:
    path = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2, client_extra_rtt_ms=(0, 140))
    flows = [{"scheme": "reno", "start_s": 0, "duration_s": 30, "client": i + 1} for i in range(2)]
    run = lab.run(path, flows, 30.0)
    assert goodput_mbps(run, 0) > 2 * goodput_mbps(run, 1)
    assert goodput_mbps(run, 0) + goodput_mbps(run, 1) == pytest.approx(19, rel=0.05)


def test_unknown_topology_is_refused(lab: Lab) -> None:
    for name in ("star", "router-0c", "router-99c", "router-c"):
        with pytest.raises(GuestFailed, match=f"topology '{name}'"):
            lab.call("build", topology=name)
