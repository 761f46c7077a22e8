"""tcp_ndm in the sanitizer kernel, in networks that do to it what networks can do.

KASAN, UBSAN, lockdep and kmemleak watch. Each flow must deliver every byte as it was sent; and at the end nothing must
be left: no connection in any namespace, no reference to the module, no memory.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from env.checkout import ROOT
from env.lab import Lab
from env.lab.reports import LeakWatch, find_reports, kernel_log
from tests.support.bad_models import BAD_MODELS, put_models
from tests.support.guest import shell
from tests.support.hostile_guest import CHOSEN
from tests.support.labs import checked_lab

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "/sys/module/tcp_ndm/ndm"
TRACING = "/sys/kernel/tracing"
TRACE_BUFFER_KB = 65536
CWND_MAX = 1 << 23
PATIENCE_S = 3600  # of the lab's clock: a connection that has not gone on by then never will
DECISION = re.compile(r"flow=(\d+) decision=(\d+) .* cwnd=(\d+) ")
SETUP = """
mkdir -p /run/netns
ip netns add near && ip netns add far
ip link add near netns near address 02:00:00:00:00:01 type veth peer name far netns far address 02:00:00:00:00:02
ip -n near address add 192.0.2.1/24 dev near && ip -n far address add 192.0.2.2/24 dev far
for end in near far; do ip -n $end link set lo up; ip -n $end link set $end up; done
ip -n near neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev near nud permanent
ip -n far neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 dev far nud permanent
for end in near far; do ip netns exec $end sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'; done
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with checked_lab("tcp_ndm", seed=11, variant="sanitizer") as running:
        shell(running, f"set -e\n{SETUP}")
        put_models(running, {name: BAD_MODELS[name] for name in ("grow", "shrink")})
        shell(
            running,
            f"echo {TRACE_BUFFER_KB} >{TRACING}/buffer_size_kb; echo 1 >{TRACING}/events/ndm/enable",
        )
        watch = LeakWatch(running)
        yield running
        nothing_is_left(running)
        assert watch.leaks() == []


def nothing_is_left(lab: Lab) -> None:
    """No connection; the counters are what was traced and what was chosen; and the module goes."""
    check(run(lab, 'link("delay 10ms")\nflow = Flow()\nflow.watch(1)\nprint(json.dumps(flow.finish()))'))
    # the last FIN of a connection waits for a minute, a peer that has gone for up to 16
    shell(lab, "sleep 1200")
    for namespace in ("near", "far"):
        assert shell(lab, f"ip netns exec {namespace} ss -tanH") == ""
    assert shell(lab, "ss -tanH") == ""
    lines = shell(lab, f"cat {TRACING}/trace").splitlines()
    decided: dict[int, list[int]] = {}
    for flow, decision, cwnd in (match.groups() for match in map(DECISION.search, lines) if match):
        decided.setdefault(int(flow), []).append(int(decision))
        assert 1 <= int(cwnd) <= CWND_MAX
    for numbers in decided.values():
        assert numbers == list(range(len(numbers))), "a decision is missing"
    assert max(decided) == int(shell(lab, f"stat -c %s {CHOSEN}")), "each choice of ndm is a flow"
    assert counter(lab, "decisions") == sum(map(len, decided.values()))
    assert counter(lab, "guard_interventions") == sum(" ndm_guard: " in line for line in lines)
    assert shell(lab, "cat /sys/module/tcp_ndm/refcnt") == "0"
    shell(lab, "rmmod tcp_ndm")


def counter(lab: Lab, name: str) -> int:
    return int(shell(lab, f"cat {FOLDER}/counters/{name}"))


@pytest.fixture(params=["builtin", "grow.bin", "shrink.bin"])
def model(request: pytest.FixtureRequest, lab: Lab) -> str:
    """The model that decides: the shipped one, and two that are stuck, until the guard takes the connection."""
    shell(lab, f"echo {request.param} >{FOLDER}/model")
    return str(request.param)


@pytest.fixture
def shipped(lab: Lab) -> Lab:
    shell(lab, f"echo builtin >{FOLDER}/model")
    return lab


def run(lab: Lab, text: str) -> dict[str, Any]:
    """Run a program of the guest that prints one JSON object; the kernel must have nothing to report afterwards."""
    head = f"import sys\nsys.path.insert(0, '{ROOT}')\nimport json\nfrom tests.support.hostile_guest import *\n"
    head += f"give_up_after({PATIENCE_S})\n"
    printed = shell(lab, f"/usr/bin/python3 - <<'END'\n{head}{text}\nEND")
    assert find_reports(kernel_log(lab)) == []
    result: dict[str, Any] = json.loads(printed)
    return result


def check(flow: dict[str, int]) -> None:
    """Every byte arrived as it was sent, and the window stayed within its limits."""
    assert flow["received"] == flow["sent"] > 0
    assert flow["wrong"] == 0
    assert 1 <= flow["least_cwnd"] <= flow["most_cwnd"] <= CWND_MAX


LINKS = {
    "loss": ("delay 10ms rate 10mbit loss 30%", "delay 10ms"),
    "loss of ACKs": ("delay 10ms rate 10mbit", "delay 10ms loss 30%"),
    "reordering": ("delay 10ms 9ms", "delay 10ms 9ms"),
    "duplication": ("delay 10ms rate 5mbit duplicate 50%", "delay 10ms duplicate 50%"),
    "corruption": ("delay 10ms rate 10mbit corrupt 10%", "delay 10ms corrupt 10%"),
    "all of it": 2 * ("delay 10ms 5ms loss 5% duplicate 10% corrupt 5%",),
}


def test_the_guard_has_work(lab: Lab) -> None:
    """Else the two bad models say nothing of it."""
    for model in ("grow.bin", "shrink.bin"):
        shell(lab, f"echo {model} >{FOLDER}/model")
        before = counter(lab, "guard_interventions")
        check(
            run(
                lab,
                """
link("delay 10ms rate 10mbit")
# a queue of ten round trips, which takes the model that grows three seconds and sixteen decisions
flow = Flow(receive_bytes=262144)
flow.watch(10)
print(json.dumps(flow.finish()))
""",
            )
        )
        assert counter(lab, "guard_interventions") == before + 1


@pytest.mark.parametrize("name", LINKS)
def test_links(lab: Lab, model: str, name: str) -> None:
    there, back = LINKS[name]
    result = run(
        lab,
        f"""
link("delay 10ms")
flow = Flow()
link("{there}", "{back}")
flow.watch(6)
flow.stop()
# what is still on the way goes over a link that lets it
link("delay 10ms rate 100mbit")
print(json.dumps(flow.finish()))
""",
    )
    check(result)
    if name in ("loss", "corruption", "all of it"):
        assert result["retransmits"] > 0


def test_a_receiver_that_stops_reading(lab: Lab, model: str) -> None:
    result = run(
        lab,
        """
link("delay 10ms rate 20mbit")
flow = Flow(receive_bytes=65536)
backoffs = []
for silent_s in (0.1, 1, 10, 100, 0.01):
    flow.reading.clear()
    flow.watch(silent_s, every_s=silent_s / 10)
    backoffs.append(info(flow.sender)["backoff"])
    flow.reading.set()
    flow.watch(1)
print(json.dumps(flow.finish() | {"backoffs": backoffs}))
""",
    )
    check(result)
    assert max(result["backoffs"]) >= 3, "the window was not closed for long enough to be probed"


def test_the_rtt_jumps_from_10_us_to_10_s_and_back(lab: Lab, model: str) -> None:
    result = run(
        lab,
        """
link("delay 5us rate 100mbit", "delay 5us")
flow = Flow()
flow.watch(0.2)
short_us = info(flow.sender)["srtt_us"]
link("delay 5s rate 10mbit", "delay 5s")
flow.watch(120, every_s=1)
long_us = info(flow.sender)["srtt_us"]
link("delay 5us rate 10mbit", "delay 5us")
flow.watch(2)
print(json.dumps(flow.finish() | {"short_us": short_us, "long_us": long_us}))
""",
    )
    check(result)
    assert result["short_us"] < 1_000_000
    assert result["long_us"] > 9_000_000


@pytest.mark.parametrize("how", ["the sender", "the receiver", "the receiver, with data unread"])
def test_resets_in_mid_flight(lab: Lab, model: str, how: str) -> None:
    """Connections in each state that they can be in, twelve at a time, while others go on."""
    result = run(
        lab,
        f"""
how = "{how}"
states = {{}}
for round_ in range(4):
    link("delay 10ms rate 50mbit")
    pairs = [connect() for _ in range(12)]
    link("delay 10ms rate 50mbit loss " + ("20%" if round_ else "100%"))
    for sender, receiver in pairs:
        sender.setblocking(False)
    while pairs:
        for _ in range(4 + round_):
            for sender, receiver in pairs:
                try:
                    sender.send(BLOCK)
                    if how != "the receiver, with data unread":
                        receiver.recv(1 << 20, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
            time.sleep(0.01)
        sender, receiver = pairs.pop()
        state = ca_state(sender)
        states[state] = states.get(state, 0) + 1
        ending = sender if how == "the sender" else receiver
        if how != "the receiver, with data unread":
            ending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        ending.close()
        time.sleep(0.005)
        sender.close()
        receiver.close()
link("delay 10ms rate 20mbit")
flow = Flow()
flow.watch(0.5)
print(json.dumps(flow.finish() | {{"states": states}}))
""",
    )
    check(result)
    assert {"Open", "Recovery", "Loss"} <= result["states"].keys(), "too few states were met"


def test_a_thousand_connections(shipped: Lab) -> None:
    """Sixteen at a time, some that end in order and some with a reset, some that never send."""
    result = run(
        shipped,
        """
import random
random.seed(1)
link("delay 1ms rate 200mbit", "delay 1ms")
left = iter(range(1000))
arrived = []
def open_and_close():
    for number in left:
        sender, receiver = connect()
        size = number * 37 % 40000 * (number % 5 > 0)
        writing = threading.Thread(target=sender.sendall, args=(bytes(size),))
        writing.start()
        got = 0
        while got < size:
            got += len(receiver.recv(1 << 16))
        writing.join()
        arrived.append(got == size)
        if number % 3 == 0:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        for end in (sender, receiver) if number % 2 else (receiver, sender):
            end.close()
lock = threading.Lock()
class Shared:
    def __init__(self, numbers):
        self.numbers = numbers
    def __iter__(self):
        return self
    def __next__(self):
        with lock:
            return next(self.numbers)
left = Shared(left)
workers = [threading.Thread(target=open_and_close) for _ in range(16)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(json.dumps({"opened": len(arrived), "whole": sum(arrived)}))
""",
    )
    assert result == {"opened": 1000, "whole": 1000}


def test_another_congestion_control_in_mid_connection_and_back(lab: Lab, model: str) -> None:
    result = run(
        lab,
        """
link("delay 10ms rate 20mbit")
flow = Flow("cubic")
link("delay 10ms rate 20mbit loss 3%")
states = {}
for name in 30 * ("ndm", "cubic", "ndm", "reno", "ndm", "bbr", "ndm", "vegas"):
    flow.watch(0.023)
    state = ca_state(flow.sender)
    states[state] = states.get(state, 0) + 1
    choose(flow.sender, name)
flow.stop()
link("delay 10ms rate 100mbit")
print(json.dumps(flow.finish() | {"states": states}))
""",
    )
    check(result)
    assert {"Open", "Recovery"} <= result["states"].keys(), "it was changed in too few states"


def test_mtu_changes(lab: Lab, model: str) -> None:
    result = run(
        lab,
        """
link("delay 10ms rate 5mbit")
flow = Flow()
link("delay 10ms rate 5mbit loss 1%")
for mtu in (1500, 576, 9000, 296, 1500, 552, 4000, 1280, 1500):
    ip(NEAR, f"link set near mtu {mtu}")
    flow.watch(0.7)
ip(FAR, "link set far mtu 600")
flow.watch(1)
ip(FAR, "link set far mtu 1500")
flow.stop()
link("delay 10ms rate 100mbit")
print(json.dumps(flow.finish()))
""",
    )
    check(result)


def test_models_that_are_none_change_nothing_while_a_flow_runs(shipped: Lab) -> None:
    before = counter(shipped, "models_refused")
    shell(
        shipped,
        "cd /tmp/firmware && head -c 100 grow.bin >cut.bin && head -c 5000 /dev/zero >zero.bin && : >empty.bin",
    )
    result = run(
        shipped,
        f"""
link("delay 10ms rate 20mbit loss 1%")
flow = Flow()
refused = 0
for name in 20 * ("cut.bin", "zero.bin", "empty.bin", "missing.bin", "../escape.bin"):
    flow.watch(0.02)
    file = os.open("{FOLDER}/model", os.O_WRONLY)
    try:
        os.write(file, name.encode())  # once: what buffers would try again when it is closed
    except OSError:
        refused += 1
    os.close(file)
model = open("{FOLDER}/model").read().strip()
print(json.dumps(flow.finish() | {{"refused": refused, "model": model}}))
""",
    )
    check(result)
    assert result["refused"] == 100
    assert counter(shipped, "models_refused") == before + 80, "a name outside of the folder is not even looked for"
    assert result["model"] == "builtin"
