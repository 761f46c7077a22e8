"""Networks with all kinds of faults, for every way in which the guest's kernel can have NDM as its `ndm`.

Each flow must deliver every byte as it was sent, and the kernel must report nothing. A test file has a fixture `lab`
with the namespaces of SETUP, and a class derived from HostileNetworks, which says how a model is set there.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from env.lab import Lab
from kernel.kunit.reports import find_reports, kernel_log
from tests.support.guest import run_program, shell
from tests.support.kernel.in_guest import CHOSEN
from tests.support.labs import traced_decisions

CWND_MAX = 1 << 23
PATIENCE_S = 3600  # of the lab's clock: a connection that has not gone on by then never will
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

LINKS = {
    "loss": ("delay 10ms rate 10mbit loss 30%", "delay 10ms"),
    "loss of ACKs": ("delay 10ms rate 10mbit", "delay 10ms loss 30%"),
    "reordering": ("delay 10ms 9ms", "delay 10ms 9ms"),
    "duplication": ("delay 10ms rate 5mbit duplicate 50%", "delay 10ms duplicate 50%"),
    "corruption": ("delay 10ms rate 10mbit corrupt 10%", "delay 10ms corrupt 10%"),
    "all of it": 2 * ("delay 10ms 5ms loss 5% duplicate 10% corrupt 5%",),
}


def run(lab: Lab, text: str) -> Any:
    """Run a program in the guest that prints a JSON object; the kernel must report nothing."""
    printed = run_program(lab, f"give_up_after({PATIENCE_S})\n{textwrap.dedent(text)}")
    assert find_reports(kernel_log(lab)) == []
    return json.loads(printed)


def check(flow: dict[str, Any]) -> None:
    """Check that every byte arrived as it was sent, and that the window stayed within its limits."""
    assert flow["received"] == flow["sent"] > 0
    assert flow["wrong"] == 0
    assert flow["samples"]
    assert all(1 <= cwnd <= CWND_MAX for cwnd, _, _ in flow["samples"])


def no_connection_is_left(lab: Lab) -> None:
    """Check that each connection has ended, also those whose peer has vanished."""
    # the last FIN of a connection waits for a minute, and a vanished peer keeps one for up to 16 minutes
    shell(lab, "sleep 1200")
    for namespace in ("near", "far"):
        assert shell(lab, f"ip netns exec {namespace} ss -tanH") == ""
    assert shell(lab, "ss -tanH") == ""


def check_trace(lab: Lab, lines: list[str]) -> int:
    """Check the numbers and windows in a trace of all decisions; returns how many there are."""
    decided: dict[int, list[int]] = {}
    for line in lines:
        for decision in traced_decisions([line]):
            numbers = decided.setdefault(decision.flow, [])
            assert decision.number == (len(numbers) and numbers[-1] + 1), line
            numbers.append(decision.number)
            assert 1 <= decision.cwnd <= CWND_MAX
    assert max(decided) == int(shell(lab, f"stat -c %s {CHOSEN}")), "each choice of ndm must begin a flow"
    return sum(map(len, decided.values()))


class HostileNetworks:
    """The tests. use: sets the model of new decisions."""

    connections = 1000

    def use(self, lab: Lab, model: str) -> None:
        raise NotImplementedError

    @pytest.fixture(params=["builtin", "grow.bin", "shrink.bin"])
    def model(self, request: pytest.FixtureRequest, lab: Lab) -> None:
        """Set the model that decides: the shipped one, or a constant action."""
        self.use(lab, request.param)

    @pytest.mark.usefixtures("model")
    @pytest.mark.parametrize("name", LINKS)
    def test_links(self, lab: Lab, name: str) -> None:
        forward, back = LINKS[name]
        code = f"""
            link("delay 10ms")
            flow = Flow(*connect_far())
            link("{forward}", "{back}")
            flow.watch(6)
            flow.stop()
            # a link without faults carries the rest
            link("delay 10ms rate 100mbit")
            print(json.dumps(flow.finish()))
        """
        result = run(lab, code)
        check(result)
        if name in ("loss", "corruption", "all of it"):
            assert result["samples"][-1][2] > 0, "nothing was retransmitted"

    @pytest.mark.usefixtures("model")
    def test_a_receiver_that_stops_reading(self, lab: Lab) -> None:
        code = """
            link("delay 10ms rate 20mbit")
            flow = Flow(*connect_far(receive_bytes=65536))
            backoffs = []
            for silent_s in (0.1, 1, 10, 100, 0.01):
                flow.reading.clear()
                flow.watch(silent_s, every_s=silent_s / 10)
                backoffs.append(info(flow.sender)["backoff"])
                flow.reading.set()
                flow.watch(1)
            print(json.dumps(flow.finish() | {"backoffs": backoffs}))
        """
        result = run(lab, code)
        check(result)
        assert max(result["backoffs"]) >= 3, "the window was not closed for long enough to be probed"

    @pytest.mark.usefixtures("model")
    def test_rtt_jumps_from_10_us_to_10_s(self, lab: Lab) -> None:
        code = """
            link("delay 5us rate 100mbit", "delay 5us")
            flow = Flow(*connect_far())
            flow.watch(0.2)
            short_us = info(flow.sender)["srtt_us"]
            link("delay 5s rate 10mbit", "delay 5s")
            flow.watch(180, every_s=1)
            long_us = info(flow.sender)["srtt_us"]
            link("delay 5us rate 10mbit", "delay 5us")
            flow.watch(2)
            print(json.dumps(flow.finish() | {"short_us": short_us, "long_us": long_us}))
        """
        result = run(lab, code)
        check(result)
        assert result["short_us"] < 1_000_000
        assert result["long_us"] > 9_000_000

    @pytest.mark.usefixtures("model")
    @pytest.mark.parametrize("how", ["the sender", "the receiver", "the receiver, with data unread"])
    def test_resets_in_mid_flight(self, lab: Lab, how: str) -> None:
        """Twelve connections at a time are reset in each state, while others go on."""
        code = f"""
            how = "{how}"
            states = {{}}
            for round_ in range(4):
                link("delay 10ms rate 50mbit")
                pairs = [connect_far() for _ in range(12)]
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
            flow = Flow(*connect_far())
            flow.watch(0.5)
            print(json.dumps(flow.finish() | {{"states": states}}))
        """
        result = run(lab, code)
        check(result)
        assert {"Open", "Recovery", "Loss"} <= result["states"].keys(), "too few states were met"

    def test_many_connections(self, lab: Lab) -> None:
        """Sixteen run at a time; some end in order, some with a reset, and some never send."""
        self.use(lab, "builtin")
        code = f"""
            link("delay 1ms rate 200mbit", "delay 1ms")
            arrived = []
            def open_and_close(first):
                for number in range(first, {self.connections}, 16):
                    sender, receiver = connect_far()
                    size = number * 37 % 40000 * (number % 5 > 0)
                    send(sender, receiver, size)
                    arrived.append(number)
                    if number % 3 == 0:
                        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    for end in (sender, receiver) if number % 2 else (receiver, sender):
                        end.close()
            workers = [threading.Thread(target=open_and_close, args=(first,)) for first in range(16)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            print(json.dumps(sorted(arrived)))
        """
        assert run(lab, code) == list(range(self.connections))

    @pytest.mark.usefixtures("model")
    def test_congestion_control_changes_in_mid_connection(self, lab: Lab) -> None:
        code = """
            link("delay 10ms rate 20mbit")
            flow = Flow(*connect_far("cubic"))
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
        """
        result = run(lab, code)
        check(result)
        assert {"Open", "Recovery"} <= result["states"].keys(), "too few states were met"

    @pytest.mark.usefixtures("model")
    def test_mtu_changes(self, lab: Lab) -> None:
        code = """
            link("delay 10ms rate 5mbit")
            flow = Flow(*connect_far())
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
        """
        result = run(lab, code)
        check(result)
