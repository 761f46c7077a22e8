"""sch_linktrace in the lab: packets leave in the trace's milliseconds only, and bad traces are refused."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

import pytest

from env.lab import Lab
from tests.support.guest import run_program, shell
from tests.support.labs import shared_lab

OPPORTUNITY_BYTES = 1504
TUNNEL_BYTES = 4
NS_PER_MS = 1_000_000
# A timer is set to the nanosecond, and the code after it takes no virtual time.
EXACT_NS = 1000

# A program with limit, trace in ms, and packets as (ms since the trace's start, IP bytes). It prints the start, when it
# sent each packet, and [number, departure] of those that left; times in ns of CLOCK_MONOTONIC.
EXPERIMENT = """
start = time.monotonic_ns() + 5_000_000
with open("/proc/net/linktrace", "w") as file:
    file.write(f"limit {limit} start {start}\\n" + "".join(f"{ms}\\n" for ms in trace))
tc("add dev va root linktrace")
sender, receiver = (measuring_socket(socket.AF_PACKET, socket.htons(0x88B5)) for _ in range(2))
receiver.bind(("vb", 0x88B5))
address = ("va", 0x88B5, 0, 0, b"\\2\\0\\0\\0\\0\\2")
sent = send_numbered(sender, address, start, [(ms * 1e6, size) for ms, size in packets])
time.sleep(2 + 3 * trace[-1] / 1e3)
print(json.dumps([start, sent, received_numbers(receiver)]))
tc("del dev va root")
"""


class Outcome(NamedTuple):
    """Times in ns since the trace's start. departures: index of the packet and time."""

    arrivals: list[tuple[int, int]]
    departures: list[tuple[int, int]]


VETH = "ip link add va type veth peer name vb && ip link set va up && ip link set vb up promisc on"
lab = shared_lab(both_kernels=True, setup=VETH)


def experiment(lab: Lab, limit: int, trace: list[int], packets: list[tuple[float, int]]) -> Outcome:
    parameters = f"limit, trace, packets = {limit}, {trace}, {packets}"
    start, sent, departures = json.loads(run_program(lab, parameters + EXPERIMENT))
    arrivals = [(time - start, size) for time, (_, size) in zip(sent, packets, strict=True)]
    return Outcome(arrivals, [(number, time - start) for number, time in departures])


def expected(limit: int, trace: list[int], arrivals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the departures from Mahimahi's link: one delivery opportunity after the other."""
    queue: list[list[int]] = []
    waiting = [(time, size, index) for index, (time, size) in enumerate(arrivals)]
    left: list[tuple[int, int]] = []
    round_ns, position = 0, 0
    while waiting or queue:
        now = round_ns + trace[position] * NS_PER_MS
        # the packets that came before this opportunity and fit into the queue
        while waiting and waiting[0][0] < now:
            _, size, index = waiting.pop(0)
            if len(queue) < limit:
                queue.append([index, size + TUNNEL_BYTES])
        room = OPPORTUNITY_BYTES
        while room and queue:
            part = min(room, queue[0][1])
            room -= part
            queue[0][1] -= part
            if not queue[0][1]:
                left.append((queue.pop(0)[0], now))
        position += 1
        if position == len(trace):
            position = 0
            round_ns += trace[-1] * NS_PER_MS
    return left


def assert_exact(outcome: Outcome, limit: int, trace: list[int]) -> None:
    wanted = expected(limit, trace, outcome.arrivals)
    assert [index for index, _ in outcome.departures] == [index for index, _ in wanted]
    late = [time - due for (_, time), (_, due) in zip(outcome.departures, wanted, strict=True)]
    assert 0 <= min(late) <= max(late) <= EXACT_NS


def test_full_packets_leave_one_per_line(lab: Lab) -> None:
    trace = [3, 3, 7, 10, 10, 10, 14, 20]
    outcome = experiment(lab, 100, trace, [(0, 1500)] * 16)
    milliseconds = [time // NS_PER_MS for _, time in outcome.departures]
    assert milliseconds == [*trace, *(20 + ms for ms in trace)]
    assert_exact(outcome, 100, trace)


def test_packets_share_and_span_opportunities(lab: Lab) -> None:
    # 4 x 376 bytes are 1504; the second 1000-byte packet ends in the second opportunity
    outcome = experiment(lab, 100, [2, 4, 6, 8], [(0, 372)] * 4 + [(3, 996)] * 3)
    assert [time // NS_PER_MS for _, time in outcome.departures] == [2, 2, 2, 2, 4, 6, 6]
    assert_exact(outcome, 100, [2, 4, 6, 8])


def test_opportunity_without_a_packet_is_lost(lab: Lab) -> None:
    outcome = experiment(lab, 100, [1, 2, 3, 4, 5, 100], [(50, 1500)] * 2)
    assert [time // NS_PER_MS for _, time in outcome.departures] == [100, 101]


def test_packets_beyond_the_limit_are_dropped(lab: Lab) -> None:
    outcome = experiment(lab, 5, [10, 20], [(0, 1500)] * 9)
    assert [index for index, _ in outcome.departures] == [0, 1, 2, 3, 4]
    assert_exact(outcome, 5, [10, 20])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_traffic_is_served_as_by_mahimahi(lab: Lab, seed: int) -> None:
    rng = random.Random(seed)
    trace = sorted(rng.choices(range(rng.randrange(2), 200), k=150))
    packets, at = [], 0.0
    for _ in range(400):
        # bursts, and pauses of several rounds of the trace
        at += rng.choice([0, 0, 0, 0.3, 2, 20]) if rng.random() > 0.01 else 700
        packets.append((at, rng.choice([40, 52, 500, 1499, 1500])))
    outcome = experiment(lab, 40, trace, packets)
    assert len(outcome.departures) > 200
    assert_exact(outcome, 40, trace)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5\n3\n", "line 2: 3 comes after 5"),
        ("5\n\n6\n", "line 2: '' is no time"),
        ("5\nsix\n", "line 2: 'six' is no time"),
        ("-5\n", "line 1: '-5' is no time"),
        ("+5\n", "line 1: '+5' is no time"),
        ("5 6\n", "line 1: '5 6' is no time"),
        ("99999999999\n", "line 1: '99999999999' is no time"),
        ("86400001\n", "line 1: '86400001' is no time"),
        ("0\n0\n", "the trace ends at 0"),
        ("limit 10\n", "there is no delivery opportunity"),
        ("limit 0\n5\n", "line 1: limit must be from 1 to 16777216 packets"),
        ("limit\n5\n", "line 1: limit must be"),
        ("limit 5 start x\n5\n", "line 1: start must be"),
        ("rate 5\n5\n", "line 1: 'rate' is no option"),
        ("5\nlimit 10\n", "line 2: 'limit 10' is no time"),
        ("9" * 200 + "\n", "line 1: longer than 64 characters"),
    ],
)
def test_bad_trace_is_refused(lab: Lab, text: str, message: str) -> None:
    lab.call("shell", command=f"cat >/proc/net/linktrace <<'END'\n{text}END")
    assert message in shell(lab, "cat /proc/net/linktrace")
    refused = lab.call("shell", command="tc qdisc add dev va root linktrace")
    assert refused["status"] != 0
    assert "no trace is waiting: see /proc/net/linktrace" in refused["stderr"]


def test_trace_is_used_once_in_its_namespace(lab: Lab) -> None:
    shell(lab, "printf '4\\n9' >/proc/net/linktrace")
    assert shell(lab, "cat /proc/net/linktrace") == "waiting: 2 opportunities in 9 ms"
    other = shell(lab, "unshare -n cat /proc/net/linktrace")
    assert other == "empty: write a trace here"
    shell(lab, "tc qdisc add dev va root linktrace")
    assert shell(lab, "cat /proc/net/linktrace") == other
    again = lab.call("shell", command="tc qdisc replace dev vb root linktrace")
    assert again["status"] != 0
    shell(lab, "tc qdisc del dev va root && rmmod sch_linktrace")
    assert "linktrace" not in shell(lab, "ls /proc/net")
