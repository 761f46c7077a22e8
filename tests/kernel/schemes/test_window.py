"""tcp_window.ko in the lab kernel and the sanitizer kernel: constant windows, and several of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from env.lab import FlowResult, Lab
from env.lab.virtual import MODULES
from env.network.path import Path
from kernel.kunit.reports import find_reports, kernel_log
from tests.support.guest import algorithms, run_program, shell
from tests.support.labs import checked_lab

PACKETS = "/sys/module/tcp_window/parameters/packets"
# bursts of losses and reordering: fast recoveries, time-outs and their undoing
BAD = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=0.5, loss_pct=5, loss_burst_packets=8, jitter_ms=10)


@pytest.fixture(scope="module")
def lab(variant: str) -> Iterator[Lab]:
    with checked_lab("tcp_window", seed=4, variant=variant, leaks=True) as lab:
        yield lab
        # sockets that still wait for their last timers keep the module in use
        shell(lab, "sleep 300; rmmod tcp_window")
        assert not windows(lab)


def windows(lab: Lab) -> list[str]:
    return [name for name in algorithms(lab) if name.startswith("cwnd_")]


def register(lab: Lab, packets: int) -> str:
    shell(lab, f"echo {packets} >{PACKETS}")
    return f"cwnd_{packets}"


def run(lab: Lab, packets: list[int], path: Path, duration_s: float) -> list[FlowResult]:
    flows = [{"scheme": register(lab, n), "start_s": 0, "duration_s": duration_s} for n in packets]
    return lab.run(path, flows, duration_s, sample_ms=10).flows


def seen(flow: FlowResult, column: str) -> Any:
    return flow.sender[column][flow.sender["srtt_us"] > 0]


def test_each_number_written_is_registered_once(lab: Lab) -> None:
    for packets in (1, 7, 7, 1_000_000, 1):
        register(lab, packets)
    assert {"cwnd_1", "cwnd_7", "cwnd_1000000"} <= set(windows(lab))
    assert len(set(windows(lab))) == len(windows(lab))


@pytest.mark.parametrize("value", ["0", "1000001", "-1", "4294967297", "1.5", "some", ""])
def test_number_out_of_range_is_refused(lab: Lab, value: str) -> None:
    before = windows(lab)
    assert lab.call("shell", command=f"printf '%s\\n' '{value}' >{PACKETS}")["status"] != 0
    wanted = f"tcp_window: packets={value} is refused: it must be a whole number from 1 to 1000000"
    assert wanted in kernel_log(lab).splitlines()[-1]
    assert windows(lab) == before


def test_losses_and_time_outs_do_not_move_it(lab: Lab) -> None:
    [flow] = run(lab, [24], BAD, 60.0)
    assert set(seen(flow, "cwnd")) == {24}
    assert flow.retransmits > 100
    assert set(seen(flow, "pacing_rate")) <= {2**64 - 1, float(2**64 - 1)}, "it is not paced"


def test_windows_of_several_sizes_meet(lab: Lab) -> None:
    # the path holds 67 of the 96 packets, and its queue has room for the first bursts: shares follow the windows
    flows = run(lab, [16, 32, 48], Path(rate_mbps=20, rtt_ms=40, buffer_bdp=4), 30.0)
    assert [set(seen(flow, "cwnd")) for flow in flows] == [{16}, {32}, {48}]
    goodput = [flow.received_bytes / flows[0].received_bytes for flow in flows]
    assert goodput == pytest.approx([1, 2, 3], rel=0.05)
    assert [flow.retransmits for flow in flows] == [0, 0, 0]


def test_one_window_a_round_trip_is_its_goodput(lab: Lab) -> None:
    [flow] = run(lab, [10], Path(rate_mbps=100, rtt_ms=50, buffer_bdp=1), 20.0)
    assert flow.received_bytes * 8 / 20 == pytest.approx(10 * 1448 * 8 / 0.05, rel=0.02)


def test_idle_time_and_dead_path_change_nothing(lab: Lab) -> None:
    register(lab, 30)
    code = """
        tc("replace dev lo root netem delay 10ms")
        sender, receiver = connect("cwnd_30")
        cwnds = []
        send(sender, receiver, 1 << 20)
        for pause in (1, 60):
            time.sleep(pause)
            send(sender, receiver, 1 << 20)
            cwnds.append(info(sender)["cwnd"])
        tc("change dev lo root netem delay 10ms loss 100%")
        queued = fill_and_wait(sender, 10)
        cwnds.append(info(sender)["cwnd"])
        tc("change dev lo root netem delay 10ms loss 0%")
        drain(receiver, queued)
        cwnds.append(info(sender)["cwnd"])
        print(json.dumps({"cwnds": cwnds, "retransmits": info(sender)["retransmits"]}))
        tc("del dev lo root")
    """
    result = json.loads(run_program(lab, code))
    assert result["cwnds"] == [30] * 4
    assert result["retransmits"] > 0


def test_window_in_use_keeps_the_module(lab: Lab) -> None:
    register(lab, 5)
    assert run_program(lab, 'sender, receiver = connect("cwnd_5")\nprint(rmmod("tcp_window"))\nsender.close()') == "1"


def test_insmod_registers_a_window_or_refuses_it() -> None:
    # the lab kernel only: in user-mode Linux, KASAN reports an access out of bounds when a module is loaded again
    module = MODULES / "tcp_window.ko"
    with checked_lab() as lab:
        for refused in ("packets=0", "packets=12 packets=0"):
            assert lab.call("shell", command=f"insmod {module} {refused}")["status"] != 0
            assert windows(lab) == []
        for _ in range(20):
            shell(lab, f"insmod {module} packets=12 && echo 13 >{PACKETS}")
            assert windows(lab) == ["cwnd_12", "cwnd_13"]
            shell(lab, "rmmod tcp_window")
            assert windows(lab) == []
        assert find_reports(kernel_log(lab)) == []
