"""The VM lab without a VM: a missing kernel, and the limits of real time."""

from __future__ import annotations

import pytest

from env.lab import LabMissing
from env.lab.real_time import LATE_MAX_US, LATE_P99_US, NotKeptUp, check_kept_up
from env.lab.vm import VmLab

IN_TIME = {"late_p50_us": 200.0, "late_p99_us": 900.0, "late_max_us": 5000.0, "idle_pct": 60.0}


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
