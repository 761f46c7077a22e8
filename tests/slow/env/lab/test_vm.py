"""A stock kernel under QEMU: the same agent, the same network, and whether the guest keeps up with real time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from compare.studies.network_accuracy import measure_delay, measure_rate
from env.lab import GuestFailed, LabError, LabMissing, VirtualLab
from env.lab.real_time import LATE_MAX_US, LATE_P99_US, PULSE, NotKeptUp, check_kept_up
from env.lab.stock_kernel import StockKernel
from env.lab.vm import QEMU, VmLab
from env.network.path import Path
from env.network.rack import Rack

KERNEL = "6.12"
IN_TIME = {"late_p50_us": 200.0, "late_p99_us": 900.0, "late_max_us": 5000.0, "idle_pct": 60.0}
FLOW = {"scheme": "cubic", "start_s": 0.0, "duration_s": 5.0}


def what_is_missing() -> str:
    """Return why no VM can be booted here; empty when one can."""
    if shutil.which(QEMU) is None or not PULSE.is_file():
        return f"{QEMU} or {PULSE.name} is missing: make vm-kernel"
    try:
        stock = StockKernel(KERNEL)
    except LabMissing:
        return f"the stock kernel {KERNEL} has not been fetched: make vm-kernel"
    return "" if (stock.modules / "sch_linktrace.ko").is_file() else "no modules for it: make vm-kernel"


needs_vm = pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there")


def test_a_kernel_that_was_not_fetched_names_the_target_that_fetches_it() -> None:
    with pytest.raises(LabMissing, match=r"make vm-kernel"):
        VmLab(kernel="2.6")


@pytest.mark.parametrize(
    ("worse", "figure"),
    [
        ({"late_p99_us": LATE_P99_US + 1}, "2001 us"),
        ({"late_max_us": LATE_MAX_US + 1}, "20001 us"),
        ({"idle_pct": 19.0}, "19 %"),
    ],
)
def test_a_run_that_was_not_kept_up_with_is_refused_with_the_figures(worse: dict[str, float], figure: str) -> None:
    check_kept_up(IN_TIME)
    with pytest.raises(NotKeptUp, match=figure):
        check_kept_up(IN_TIME | worse)


@needs_vm
def test_an_unknown_clock_names_the_known_ones() -> None:
    with pytest.raises(LabError, match="real, counted"):
        VmLab(kernel=KERNEL, clock="wall")


@pytest.fixture(scope="module")
def lab() -> Iterator[VmLab]:
    with VmLab(kernel=KERNEL, modules=("tcp_ndm",), clock="counted") as vm:
        yield vm


@needs_vm
@pytest.mark.timeout(600)
class TestCounted:
    """One boot; the clock counts instructions, so that a busy machine changes nothing."""

    def test_data_moves_over_the_path_as_in_the_virtual_lab(self, lab: VmLab) -> None:
        path = Path(rate_mbps=10, rtt_ms=40, buffer_bdp=1)
        flows = [FLOW, FLOW | {"scheme": "ndm"}]
        stock = lab.run(path, flows, 5.0, sample_ms=50, describe=True)
        with VirtualLab(seed=1, modules=("tcp_ndm",)) as other:
            virtual = other.run(path, flows, 5.0, sample_ms=50, describe=True)
        got, expected = (sum(flow["received_bytes"] for flow in run["flows"]) for run in (stock, virtual))
        assert got == pytest.approx(expected, rel=0.05)
        assert expected * 8 / 5.0 / 1e6 > 8
        for flow in stock["flows"]:
            assert len(flow["sender"]["rows"]) > 90
            assert len(flow["receiver"]["rows"]) > 90
        assert "Debian" in stock["environment"]["kernel"]
        assert "Debian" not in virtual["environment"]["kernel"]
        assert {"tcp_ndm", "sch_linktrace"} <= stock["environment"]["modules"].keys()
        assert stock["pulse"]["pulses"] == 1000
        assert stock["pulse"]["idle_pct"] > 50

    def test_the_path_is_what_was_asked_for(self, lab: VmLab) -> None:
        (delay,) = measure_delay(lab, "router", 20, 0, 2000)
        assert abs(delay.error) < 0.01, delay
        rate = measure_rate(lab, "router", 10, 2000)
        assert abs(rate.error) < 0.01, rate

    def test_a_link_trace_sets_the_rate(self, lab: VmLab) -> None:
        path = Path(trace="held_out/wifi", rtt_ms=30, buffer_bdp=4)
        result = lab.run(path, [FLOW], 5.0, sample_ms=50)
        assert 0.3 < result["flows"][0]["received_bytes"] * 8 / 5.0 / 1e6 / path.rate_mbps < 1.5

    def test_errors_of_the_guest_are_told(self, lab: VmLab) -> None:
        with pytest.raises(GuestFailed, match="nonsense"):
            lab.run(Path(rate_mbps=10), [FLOW | {"scheme": "nonsense"}], 5.0)
        with pytest.raises(LabError, match="rack"):
            lab.run(Rack(), [FLOW], 5.0)
        assert lab.call("shell", command="echo still here")["stdout"] == "still here\n"

    def test_the_guest_cannot_write_the_hosts_files(self, lab: VmLab) -> None:
        mark = FilePath.home() / ".ndm-vm-test"
        assert lab.call("shell", command=f"touch {mark}")["status"]
        assert not mark.exists()


@needs_vm
@pytest.mark.timeout(600)
def test_a_guest_without_time_to_spare_is_refused_and_nothing_is_left_of_it() -> None:
    with VmLab(kernel=KERNEL) as vm:
        vm.call("shell", command="while :; do :; done >/dev/null 2>&1 &")
        with pytest.raises(NotKeptUp, match="idle for"):
            vm.run(Path(rate_mbps=1), [FLOW], 5.0)
        pid = vm.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
