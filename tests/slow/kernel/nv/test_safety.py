"""tcp_nv.ko in the sanitizer kernel: what may happen to a connection happens, and no sanitizer has anything to say.

KASAN, UBSAN, lockdep and kmemleak watch; cwnd is sampled all the while, and every byte arrives.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from env.lab import Lab
from env.lab.reports import find_reports, kernel_log
from tests.support.guest import program, shell
from tests.support.labs import shared_lab
from tests.support.nv import build, parameters

if TYPE_CHECKING:
    pass

SETTINGS = "/sys/module/tcp_nv/parameters"
MIN_CWND = 10

# A flow that sends all the time, over a link whose delay, loss and rate the test changes.
FLOW = """
import json, os
class Flow:
    def __init__(self):
        self.sender, self.receiver = connect("nv")
        self.sent = self.received = 0
        self.samples = []
        self.more = True
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self._write, self._read)]
        for thread in self.threads:
            thread.start()
    def _write(self):
        block = bytes(1 << 16)
        while self.more:
            self.sent += self.sender.send(block)
        self.sender.shutdown(socket.SHUT_WR)
    def _read(self):
        while data := self.receiver.recv(1 << 20):
            self.received += len(data)
    def watch(self, seconds, every_s=0.005):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(every_s)
            info = tcp_info(self.sender)
            self.samples.append((info[18], info[17], info[23]))
    def finish(self):
        self.more = False
        for thread in self.threads:
            thread.join()
        return {"sent": self.sent, "received": self.received, "samples": self.samples}
def link(options):
    tc(f"change dev lo root netem limit 10000 {options}")
def counter(name):
    names, values = (line.split() for line in open("/proc/net/netstat") if line.startswith("TcpExt:"))
    return int(values[names.index(name)])
"""
DELAY_10_US = "delay 5us rate 200mbit"
DELAY_10_S = "delay 5s rate 200mbit"
DELAY_20_MS = "delay 10ms rate 20mbit"


lab = shared_lab(
    "tcp_nv",
    seed=7,
    variant="sanitizer",
    leaks=True,
    setup=lambda lab: shell(
        lab, "ip link set lo mtu 1500 up; tc qdisc replace dev lo root netem limit 10000 delay 10ms"
    ),
)


def run(lab: Lab, text: str) -> dict[str, Any]:
    """Run a program of the guest that prints one JSON object; the kernel must have nothing to report afterwards."""
    printed = shell(lab, program(FLOW + text))
    assert find_reports(kernel_log(lab)) == []
    result: dict[str, Any] = json.loads(printed)
    return result


def check(result: dict[str, Any]) -> None:
    """Every byte arrived, cwnd was never 0, and before the first loss never below its floor."""
    assert result["received"] == result["sent"] > 0
    assert result["samples"]
    for cwnd, ssthresh, retransmits in result["samples"]:
        assert cwnd >= 1
        assert ssthresh >= 2
        if not retransmits:
            assert cwnd >= MIN_CWND


def test_the_rtt_jumps_from_10_us_to_10_s_and_back(lab: Lab) -> None:
    result = run(
        lab,
        f"""
link("{DELAY_10_US}")
flow = Flow()
flow.watch(1.0)
timeouts = counter("TCPTimeouts")
link("{DELAY_10_S}")
flow.watch(120.0, every_s=0.1)
long_us = tcp_info(flow.sender)[15]
link("{DELAY_10_US}")
flow.watch(60.0, every_s=0.1)
short_us = tcp_info(flow.sender)[15]
print(json.dumps(flow.finish() | {{
    "long_us": long_us, "short_us": short_us, "timeouts": counter("TCPTimeouts") - timeouts,
}}))
""",
    )
    check(result)
    assert result["long_us"] > 9_000_000
    assert result["short_us"] < 1_000_000
    assert result["timeouts"] > 0, "the first 10 s look like a path that is gone"


def test_idle_restarts(lab: Lab) -> None:
    result = run(
        lab,
        f"""
link("{DELAY_20_MS}")
sender, receiver = connect("nv")
samples, before, after = [], [], []
size = 1 << 20
for pause_s in (0.1, 1, 10, 100, 4300, 0.01, 30):
    send(sender, receiver, size)
    before.append(tcp_info(sender)[18])
    time.sleep(pause_s)
    # the kernel restarts the window with the first segment after the pause
    sender.send(bytes(1))
    receiver.recv(1)
    after.append(tcp_info(sender)[18])
    samples += [(cwnd, tcp_info(sender)[17], tcp_info(sender)[23]) for cwnd in (before[-1], after[-1])]
print(json.dumps({{"sent": size, "received": size, "samples": samples, "before": before, "after": after}}))
""",
    )
    check(result)
    restarted = [after < before for before, after in zip(result["before"], result["after"], strict=True)]
    assert restarted[2:5] == [True] * 3, "pauses of many round trips (and beyond the microsecond clock) restart"
    assert not restarted[5], "one of 10 ms does not"


def test_time_outs(lab: Lab) -> None:
    result = run(
        lab,
        f"""
link("{DELAY_20_MS}")
flow = Flow()
flow.watch(2.0)
before = counter("TCPTimeouts")
for gone_s in (0.05, 0.3, 3.0, 20.0):
    link("{DELAY_20_MS} loss 100%")
    flow.watch(gone_s)
    link("{DELAY_20_MS}")
    # a time-out's next attempt may come as much later again
    flow.watch(gone_s + 2)
print(json.dumps(flow.finish() | {{"timeouts": counter("TCPTimeouts") - before}}))
""",
    )
    check(result)
    assert result["timeouts"] >= 6
    assert min(cwnd for cwnd, _, _ in result["samples"]) == 1, "the kernel takes the window"
    assert result["samples"][-1][0] >= MIN_CWND, "and it comes back"


def test_a_receiver_takes_back_what_it_has_acknowledged_selectively(lab: Lab) -> None:
    """SACK reneging: holes in the sequence, then a receive buffer that shrinks below what waits behind them."""
    result = run(
        lab,
        f"""
link("{DELAY_20_MS} loss 3%")
flow = Flow()
flow.watch(2.0)
pruned, reneging = counter("OfoPruned"), counter("TCPSACKReneging")
for _ in range(20):
    flow.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
    flow.watch(0.1)
    flow.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    flow.watch(0.4)
link("{DELAY_20_MS}")
flow.watch(3.0)
print(json.dumps(flow.finish() | {{
    "pruned": counter("OfoPruned") - pruned, "reneging": counter("TCPSACKReneging") - reneging,
}}))
""",
    )
    check(result)
    assert result["pruned"] > 0
    assert result["reneging"] > 0


def test_cwnd_stays_below_the_clamp_of_its_route(lab: Lab) -> None:
    clamp = 37
    route = "ip route change local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1"
    shell(lab, f"{route} cwnd lock {clamp}")
    shell(lab, f"cd {SETTINGS} && echo 2 >nv_rtt_cnt_inc_delta && echo 4 >nv_dec_factor && echo 2 >nv_min_cwnd")
    try:
        result = run(
            lab,
            f"""
link("{DELAY_20_MS}")
# the kernel takes a route's clamp with the metrics that an earlier connection has left when it closed
sender, receiver = connect("nv")
sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
send(sender, receiver, 1 << 16)
sender.shutdown(socket.SHUT_WR)
receiver.recv(1)
receiver.close()
time.sleep(1)
flow = Flow()
flow.watch(30.0)
print(json.dumps(flow.finish()))
""",
        )
    finally:
        shell(lab, f"{route}; ip tcp_metrics flush")
        shell(lab, f"cd {SETTINGS} && echo 0 >nv_rtt_cnt_inc_delta && echo 8 >nv_dec_factor && echo 10 >nv_min_cwnd")
    cwnds = [cwnd for cwnd, _, _ in result["samples"]]
    assert max(cwnds) == clamp
    windows = [cwnd for cwnd, _ in itertools.groupby(cwnds)]
    dips = [i for i, cwnd in enumerate(windows[:-1]) if i and cwnd == clamp // 2 and windows[i - 1] == clamp]
    assert dips, "the temporary decrease"
    assert all(windows[i + 1] == clamp for i in dips), "and back to the clamp"


def test_parameters_change_under_a_flow(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> None:
    ranges = parameters(build(tmp_path_factory.mktemp("nv")))
    values = {name: (entry.least, entry.most, entry.default) for name, entry in ranges.items()}
    result = run(
        lab,
        f"""
link("{DELAY_20_MS} loss 0.1%")
flow = Flow()
flow.watch(1.0)
values = {values!r}
def choose(name, value):
    with open(f"{SETTINGS}/{{name}}", "w") as file:
        file.write(str(value))
for which in (0, 1, 0, 1):
    for name in values:
        choose(name, values[name][which])
        flow.watch(0.2)
for name in values:
    choose(name, values[name][2])
flow.watch(2.0)
print(json.dumps(flow.finish()))
""",
    )
    assert result["received"] == result["sent"] > 0
    assert min(cwnd for cwnd, _, _ in result["samples"]) >= 1
