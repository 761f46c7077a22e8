"""tcp_nv.ko in the sanitizer kernel: a connection gets events of all kinds, and no sanitizer reports anything.

KASAN, UBSAN, lockdep and kmemleak watch. The tests sample cwnd, and every byte must arrive as it was sent.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from env.lab import Lab
from kernel.kunit.reports import find_reports, kernel_log
from tests.support.guest import run_program, shell
from tests.support.kernel.nv import build, parameters
from tests.support.labs import shared_lab

SETTINGS = "/sys/module/tcp_nv/parameters"
MIN_CWND = 10

DELAY_10_US = "delay 5us rate 200mbit"
DELAY_10_S = "delay 5s rate 200mbit"
DELAY_20_MS = "delay 10ms rate 20mbit"


SETUP = "ip link set lo mtu 1500 up; tc qdisc replace dev lo root netem limit 10000 delay 10ms"
lab = shared_lab("tcp_nv", seed=7, variant="sanitizer", leaks=True, setup=SETUP)


def run(lab: Lab, text: str) -> dict[str, Any]:
    """Run a program in the guest that prints a JSON object; the kernel must report nothing."""
    printed = run_program(lab, text)
    assert find_reports(kernel_log(lab)) == []
    result: dict[str, Any] = json.loads(printed)
    return result


def check(result: dict[str, Any]) -> None:
    """Check that every byte arrived, that cwnd was never 0, and never below its floor before the first loss."""
    assert result["received"] == result["sent"] > 0
    assert not result.get("wrong")
    assert result["samples"]
    for cwnd, ssthresh, retransmits in result["samples"]:
        assert cwnd >= 1
        assert ssthresh >= 2
        if not retransmits:
            assert cwnd >= MIN_CWND


def test_rtt_jumps_from_10_us_to_10_s(lab: Lab) -> None:
    code = f"""
        lo("{DELAY_10_US}")
        flow = Flow(*connect("nv"))
        flow.watch(1.0)
        timeouts = counter("TCPTimeouts")
        lo("{DELAY_10_S}")
        flow.watch(120.0, every_s=0.1)
        long_us = info(flow.sender)["srtt_us"]
        lo("{DELAY_10_US}")
        flow.watch(60.0, every_s=0.1)
        short_us = info(flow.sender)["srtt_us"]
        timeouts = counter("TCPTimeouts") - timeouts
        print(json.dumps(flow.finish() | {{"long_us": long_us, "short_us": short_us, "timeouts": timeouts}}))
    """
    result = run(lab, code)
    check(result)
    assert result["long_us"] > 9_000_000
    assert result["short_us"] < 1_000_000
    assert result["timeouts"] > 0, "the first 10 s must look like a broken path"


def test_idle_restarts(lab: Lab) -> None:
    code = f"""
        lo("{DELAY_20_MS}")
        sender, receiver = connect("nv")
        samples, before, after = [], [], []
        size = 1 << 20
        for pause_s in (0.1, 1, 10, 100, 4300, 0.01, 30):
            send(sender, receiver, size)
            before.append(info(sender)["cwnd"])
            time.sleep(pause_s)
            # the kernel restarts the window with the first segment after the pause
            sender.send(bytes(1))
            receiver.recv(1)
            after.append(info(sender)["cwnd"])
            ssthresh, retransmits = info(sender)["ssthresh"], info(sender)["retransmits"]
            samples += [(cwnd, ssthresh, retransmits) for cwnd in (before[-1], after[-1])]
        print(json.dumps({{"sent": size, "received": size, "samples": samples, "before": before, "after": after}}))
    """
    result = run(lab, code)
    check(result)
    restarted = [after < before for before, after in zip(result["before"], result["after"], strict=True)]
    assert restarted[2:5] == [True] * 3, (
        "a pause of many round trips, or longer than the microsecond clock, must restart"
    )
    assert not restarted[5], "a pause of 10 ms must not restart"


def test_time_outs(lab: Lab) -> None:
    code = f"""
        lo("{DELAY_20_MS}")
        flow = Flow(*connect("nv"))
        flow.watch(2.0)
        before = counter("TCPTimeouts")
        for gone_s in (0.05, 0.3, 3.0, 20.0):
            lo("{DELAY_20_MS} loss 100%")
            flow.watch(gone_s)
            lo("{DELAY_20_MS}")
            # a time-out's next attempt may come as much later again
            flow.watch(gone_s + 2)
        print(json.dumps(flow.finish() | {{"timeouts": counter("TCPTimeouts") - before}}))
    """
    result = run(lab, code)
    check(result)
    assert result["timeouts"] >= 6
    assert min(cwnd for cwnd, _, _ in result["samples"]) == 1, "the kernel sets the window on a time-out"
    assert result["samples"][-1][0] >= MIN_CWND, "the window does not recover"


def test_receiver_drops_selectively_acknowledged_data(lab: Lab) -> None:
    """SACK reneging: after losses, the receive buffer shrinks below the data that waits behind the holes."""
    code = f"""
        lo("{DELAY_20_MS} loss 3%")
        flow = Flow(*connect("nv"))
        flow.watch(2.0)
        pruned, reneging = counter("OfoPruned"), counter("TCPSACKReneging")
        for _ in range(20):
            flow.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
            flow.watch(0.1)
            flow.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            flow.watch(0.4)
        lo("{DELAY_20_MS}")
        flow.watch(3.0)
        pruned, reneging = counter("OfoPruned") - pruned, counter("TCPSACKReneging") - reneging
        print(json.dumps(flow.finish() | {{"pruned": pruned, "reneging": reneging}}))
    """
    result = run(lab, code)
    check(result)
    assert result["pruned"] > 0
    assert result["reneging"] > 0


def test_cwnd_stays_below_the_clamp_of_its_route(lab: Lab) -> None:
    clamp = 37
    route = "ip route change local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1"
    shell(lab, f"{route} cwnd lock {clamp}")
    shell(lab, f"cd {SETTINGS} && echo 2 >nv_rtt_cnt_inc_delta && echo 4 >nv_dec_factor && echo 2 >nv_min_cwnd")
    try:
        code = f"""
            lo("{DELAY_20_MS}")
            # the kernel applies a route's clamp with the metrics that an earlier connection saved when it closed
            sender, receiver = connect("nv")
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))  # no reset
            send(sender, receiver, 1 << 16)
            sender.shutdown(socket.SHUT_WR)
            receiver.recv(1)
            receiver.close()
            time.sleep(1)
            flow = Flow(*connect("nv"))
            flow.watch(30.0)
            print(json.dumps(flow.finish()))
        """
        result = run(lab, code)
    finally:
        shell(lab, f"{route}; ip tcp_metrics flush")
        shell(lab, f"cd {SETTINGS} && echo 0 >nv_rtt_cnt_inc_delta && echo 8 >nv_dec_factor && echo 10 >nv_min_cwnd")
    cwnds = [cwnd for cwnd, _, _ in result["samples"]]
    assert max(cwnds) == clamp
    windows = [cwnd for cwnd, _ in itertools.groupby(cwnds)]
    dips = [i for i, cwnd in enumerate(windows[:-1]) if i and cwnd == clamp // 2 and windows[i - 1] == clamp]
    assert dips, "the temporary decrease did not come"
    assert all(windows[i + 1] == clamp for i in dips), "the window does not go back to the clamp"


def test_parameters_change_under_a_flow(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> None:
    ranges = parameters(build(tmp_path_factory.mktemp("nv")))
    values = {name: (entry.least, entry.most, entry.default) for name, entry in ranges.items()}
    code = f"""
        lo("{DELAY_20_MS} loss 0.1%")
        flow = Flow(*connect("nv"))
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
    """
    result = run(lab, code)
    assert result["received"] == result["sent"] > 0
    assert min(cwnd for cwnd, _, _ in result["samples"]) >= 1
