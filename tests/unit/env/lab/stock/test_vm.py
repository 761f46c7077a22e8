"""The VM lab without a VM: a missing kernel, and the limits of real time."""

from __future__ import annotations

import pytest

from env.lab import LabMissing
from env.lab.stock.real_time import LATE_MAX_US, LATE_P99_US, GuestTooSlow, check_kept_up
from env.lab.stock.vm import VmLab

IN_TIME = {"late_p50_us": 200.0, "late_p99_us": 900.0, "late_max_us": 5000.0, "idle_pct": 60.0}


def test_missing_kernel_names_the_make_target() -> None:
    with pytest.raises(LabMissing, match=r"make vm-kernel.*make vm-newest"):
        VmLab(kernel="2.6")


@pytest.mark.parametrize(
    ("worse", "figure"),
    [
        ({"late_p99_us": LATE_P99_US + 1}, "2001 us"),
        ({"late_max_us": LATE_MAX_US + 1}, "20001 us"),
        ({"idle_pct": 19.0}, "19 %"),
    ],
)
def test_run_slower_than_real_time_is_refused(worse: dict[str, float], figure: str) -> None:
    check_kept_up(IN_TIME)
    with pytest.raises(GuestTooSlow, match=figure):
        check_kept_up(IN_TIME | worse)
