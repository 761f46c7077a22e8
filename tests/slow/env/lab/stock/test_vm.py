"""A stock kernel under QEMU: the same agent, the same network, and whether the guest keeps up with real time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from env.lab import GuestFailed, LabError, VirtualLab
from env.lab.stock.real_time import GuestTooSlow
from env.lab.stock.vm import VmLab
from env.network.path import Path
from env.network.rack import Rack
from studies.lab.network_accuracy import measure_delay, measure_rate

FLOW = {"scheme": "cubic", "start_s": 0.0, "duration_s": 5.0}


def test_an_unknown_clock_names_the_known_ones() -> None:
    with pytest.raises(LabError, match="real, counted"):
        VmLab(kernel="6.12", clock="wall")


@pytest.fixture(scope="module")
def lab() -> Iterator[VmLab]:
    with VmLab(kernel="6.12", modules=("tcp_ndm",), clock="counted") as vm:
        yield vm


@pytest.mark.timeout(600)
class TestCounted:
    """One boot; the clock counts instructions, so that a busy machine changes nothing."""

    def test_goodput_is_that_of_the_virtual_lab(self, lab: VmLab) -> None:
        path = Path(rate_mbps=10, rtt_ms=40, buffer_bdp=1)
        flows = [FLOW, FLOW | {"scheme": "ndm"}]
        stock = lab.run(path, flows, 5.0, sample_ms=50, describe=True)
        with VirtualLab(seed=1, modules=("tcp_ndm",)) as other:
            virtual = other.run(path, flows, 5.0, sample_ms=50, describe=True)
        got, expected = (sum(flow.received_bytes for flow in run.flows) for run in (stock, virtual))
        assert got == pytest.approx(expected, rel=0.05)
        assert expected * 8 / 5.0 / 1e6 > 8
        for flow in stock.flows:
            assert len(flow.sender) > 90
            assert len(flow.receiver) > 90
        assert "Debian" in stock.environment["kernel"]
        assert "Debian" not in virtual.environment["kernel"]
        assert {"tcp_ndm", "sch_linktrace"} <= stock.environment["modules"].keys()
        assert stock.pulse["pulses"] == 1000
        assert stock.pulse["idle_pct"] > 50

    def test_the_path_is_what_was_asked_for(self, lab: VmLab) -> None:
        (delay,) = measure_delay(lab, "router", 20, 0, 2000)
        assert abs(delay.error) < 0.01, delay
        rate = measure_rate(lab, "router", 10, 2000)
        assert abs(rate.error) < 0.01, rate

    def test_a_link_trace_sets_the_rate(self, lab: VmLab) -> None:
        path = Path(trace="held_out/wifi", rtt_ms=30, buffer_bdp=4)
        result = lab.run(path, [FLOW], 5.0, sample_ms=50)
        assert 0.3 < result.flows[0].received_bytes * 8 / 5.0 / 1e6 / path.rate_mbps < 1.5

    def test_errors_of_the_guest_reach_the_host(self, lab: VmLab) -> None:
        with pytest.raises(GuestFailed, match="nonsense"):
            lab.run(Path(rate_mbps=10), [FLOW | {"scheme": "nonsense"}], 5.0)
        with pytest.raises(LabError, match="rack"):
            lab.run(Rack(), [FLOW], 5.0)
        assert lab.call("shell", command="echo still here")["stdout"] == "still here\n"

    def test_the_guest_cannot_write_the_hosts_files(self, lab: VmLab) -> None:
        mark = FilePath.home() / ".ndm-vm-test"
        assert lab.call("shell", command=f"touch {mark}")["status"]
        assert not mark.exists()


@pytest.mark.timeout(600)
def test_overloaded_guest_is_refused_and_removed() -> None:
    with VmLab(kernel="6.12") as vm, VmLab(kernel="6.12") as other:
        for guest in (vm, other):  # two of them had kept each other from answering
            guest.call("shell", command="while :; do :; done >/dev/null 2>&1 &")
        with pytest.raises(GuestTooSlow, match="idle for"):
            vm.run(Path(rate_mbps=1), [FLOW], 5.0)
        pid = vm.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
