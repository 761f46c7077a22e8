"""tcp_ndm loaded and unloaded a hundred times in the sanitizer kernel, which watches all the while.

Without KASAN_VMALLOC, user-mode Linux never clears KASAN's shadow of a module's memory: the redzones of a module that
has gone stay, and the next one there is taken for an overflow of its predecessor's global variables. So the module is
built without redzones around globals for this; heap, stack, shifts, locks and leaks are watched as ever.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from env.checkout import ROOT
from env.lab import Lab, VirtualLab
from env.lab.reports import LeakWatch, find_reports, kernel_log
from env.lab.virtual import MODULES
from tests.support.guest import program, shell
from tests.support.labs import SANITIZER_MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    # tests make faults on purpose: what the kernel reports is theirs to check
    with VirtualLab(seed=2, variant="sanitizer", memory_mb=1024, timeout_s=400) as lab:
        shell(lab, "ip link set lo up; tc qdisc add dev lo root netem delay 2ms")
        yield lab


def test_a_hundred_loads_leave_nothing(lab: Lab, modules: Path) -> None:
    """Each with a connection that decides; every tenth shall go while the connection uses it, which is refused."""
    watch = LeakWatch(lab)
    printed = shell(
        lab,
        program(f"""
            refused = 0
            decisions = []
            for load in range({LOADS}):
                subprocess.run(["insmod", "{modules}/tcp_ndm.ko"], check=True)
                sender, receiver = connect("ndm")
                send(sender, receiver, 1 << 18)
                decisions.append(int(open("/sys/module/tcp_ndm/ndm/counters/decisions").read()))
                if load % 10 == 0:
                    refused += subprocess.run(["rmmod", "tcp_ndm"], capture_output=True).returncode != 0
                sender.close()
                receiver.close()
                subprocess.run(["rmmod", "tcp_ndm"], check=True)
            print(refused, min(decisions), len(decisions))
        """),
    )
    refused, least, loads = map(int, printed.split())
    assert (refused, loads) == (LOADS // 10, LOADS)
    assert least > 0
    assert find_reports(kernel_log(lab)) == []
    assert watch.leaks() == []
    # and it did watch: a fault in memory where modules have come and gone is found
    shell(lab, f"insmod {modules}/sanitizer_faults.ko fault=kasan")
    assert "BUG: KASAN: slab-out-of-bounds in sanitizer_faults_init" in "\n".join(find_reports(kernel_log(lab)))


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("ubsan", "UBSAN: shift-out-of-bounds"),
        ("lockdep", "WARNING: possible circular locking dependency detected"),
    ],
)
def test_the_others_watch_too(lab: Lab, modules: Path, fault: str, report: str) -> None:
    for _ in range(2):
        shell(lab, f"insmod {modules}/tcp_ndm.ko && rmmod tcp_ndm")
    shell(lab, f"insmod {modules}/sanitizer_faults.ko fault={fault}")
    found = find_reports(kernel_log(lab))
    assert len(found) == 1
    assert report in found[0]


def test_redzones_of_a_module_that_has_gone_are_why(lab: Lab) -> None:
    """Where this fails, the kernel clears them, and NDM_NO_REDZONES of kernel/Kbuild can go."""
    module = SANITIZER_MODULES / "tcp_ndm.ko"
    shell(lab, f"insmod {module} && rmmod tcp_ndm")
    assert find_reports(kernel_log(lab)) == []
    shell(lab, f"insmod {module}")
    assert "KASAN: global-out-of-bounds in load_module" in find_reports(kernel_log(lab))[0]
