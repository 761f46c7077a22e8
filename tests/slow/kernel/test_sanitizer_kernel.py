"""The sanitizer kernel reports each kind of fault that a module makes on purpose."""

from __future__ import annotations

import pytest

from env.lab import VirtualLab
from kernel.kunit.reports import LeakWatch, find_reports, kernel_log
from tests.support.guest import shell
from tests.support.labs import SANITIZER_MODULES

FAULTS = SANITIZER_MODULES / "sanitizer_faults.ko"


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("kasan", "BUG: KASAN: slab-out-of-bounds in sanitizer_faults_init"),
        ("ubsan", "UBSAN: shift-out-of-bounds"),
        ("lockdep", "WARNING: possible circular locking dependency detected"),
        ("warning", "WARNING: CPU: 0"),
    ],
)
def test_each_fault_is_reported(fault: str, report: str) -> None:
    with VirtualLab(seed=1, variant="sanitizer", memory_mb=1024) as lab:
        assert find_reports(kernel_log(lab)) == []
        shell(lab, f"insmod {FAULTS} fault={fault}")
        (line,) = find_reports(kernel_log(lab))
        assert report in line


def test_lost_memory_is_reported() -> None:
    with VirtualLab(seed=1, variant="sanitizer", memory_mb=1024) as lab:
        watch = LeakWatch(lab)
        assert watch.leaks() == []
        shell(lab, f"insmod {FAULTS} fault=kmemleak")
        leaks = "\n".join(watch.leaks())
        assert leaks.count("unreferenced object") == 1
        assert 'comm "insmod"' in leaks
        assert "finit_module" in leaks, "with the stack that allocated it"
