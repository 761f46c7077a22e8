"""tcp_ndm, loaded and unloaded a hundred times in the sanitizer kernel.

Without KASAN_VMALLOC, user-mode Linux never clears KASAN's shadow of a module's memory. The redzones of an unloaded
module stay, and KASAN reports the next module there as an overflow of the old one's global variables. These tests
therefore build the module without redzones around globals; KASAN still watches heap and stack, and the other
sanitizers shifts, locks and leaks.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from env.checkout import ROOT
from env.lab import Lab, VirtualLab
from env.lab.errors import GuestDied
from env.lab.virtual import MODULES
from kernel.kunit.reports import LeakWatch, find_reports, kernel_log
from tests.support.guest import run_program, shell
from tests.support.labs import SANITIZER_MODULES
from tests.support.models import SLOTS

LOADS = 100


@pytest.fixture(scope="module")
def modules() -> Iterator[Path]:
    """A folder with the modules, built without redzones around globals, where the guest sees it."""
    with tempfile.TemporaryDirectory(dir=MODULES.parent) as folder:
        subprocess.run(
            [ROOT / "kernel" / "build.sh", folder, ROOT / "build" / "sanitizer-kernel" / "tree"],
            check=True,
            env=os.environ | {"KBUILD_FLAGS": "NDM_KUNIT=y NDM_NO_REDZONES=y"},
        )
        yield Path(folder)


@pytest.fixture
def lab() -> Iterator[Lab]:
    # not checked_lab(): the tests make faults on purpose, and check the kernel's reports themselves
    with VirtualLab(seed=2, variant="sanitizer", memory_mb=1024, timeout_s=400) as lab:
        shell(lab, "ip link set lo up; tc qdisc add dev lo root netem delay 2ms")
        yield lab


def test_a_hundred_loads_leave_nothing(lab: Lab, modules: Path) -> None:
    """Each has connections that decide, one on a slot that is removed meanwhile and added again every other time. Every
    tenth unloading is tried with the connections open, and refused."""
    watch = LeakWatch(lab)
    code = f"""
        refused = 0
        decisions = []
        def change(text):
            with open("{SLOTS}", "w") as file:
                file.write(text)
        for load in range({LOADS}):
            subprocess.run(["insmod", "{modules}/tcp_ndm.ko"], check=True)
            sender, receiver = connect("ndm")
            change("+ndm_more builtin")
            others = connect("ndm_more")
            change("-ndm_more")
            send(sender, receiver, 1 << 18)
            send(*others, 1 << 18)
            if load % 2:
                change("+ndm_more builtin")
            decisions.append(int(open("/sys/module/tcp_ndm/ndm/counters/decisions").read()))
            if load % 10 == 0:
                refused += rmmod("tcp_ndm") != 0
            for one in (sender, receiver, *others):
                one.close()
            assert rmmod("tcp_ndm") == 0
        print(refused, min(decisions), len(decisions))
    """
    refused, least, loads = map(int, run_program(lab, code).split())
    assert (refused, loads) == (LOADS // 10, LOADS)
    assert least > 0
    assert find_reports(kernel_log(lab)) == []
    assert watch.leaks() == []
    # KASAN still watches: it finds a fault in memory where modules were loaded and unloaded
    shell(lab, f"insmod {modules}/sanitizer_faults.ko fault=kasan")
    assert "BUG: KASAN: slab-out-of-bounds in sanitizer_faults_init" in "\n".join(find_reports(kernel_log(lab)))


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("ubsan", "UBSAN: shift-out-of-bounds"),
        ("lockdep", "WARNING: possible circular locking dependency detected"),
    ],
)
def test_other_sanitizers_still_watch(lab: Lab, modules: Path, fault: str, report: str) -> None:
    for _ in range(2):
        shell(lab, f"insmod {modules}/tcp_ndm.ko && rmmod tcp_ndm")
    shell(lab, f"insmod {modules}/sanitizer_faults.ko fault={fault}")
    (line,) = find_reports(kernel_log(lab))
    assert report in line


def test_redzones_stay_when_a_module_has_gone(lab: Lab) -> None:
    """If this fails, the kernel clears the redzones, and NDM_NO_REDZONES of kernel/Kbuild is no longer needed."""
    module = SANITIZER_MODULES / "tcp_ndm.ko"
    shell(lab, f"insmod {module} && rmmod tcp_ndm")
    assert find_reports(kernel_log(lab)) == []
    try:
        shell(lab, f"insmod {module}")
        shown = find_reports(kernel_log(lab))[0]
    except GuestDied as death:  # at some addresses the module does not survive what it is loaded over
        shown = str(death)
    assert "KASAN: global-out-of-bounds in load_module" in shown or "[B]=BAD_PAGE" in shown
