"""The modules in stock kernels under QEMU: they load, change the model, transfer data and unload, and the log is clean.

`make -C packaging vm-test` runs the file and shows what it prints.
"""

from __future__ import annotations

import pytest

from env.checkout import DATASETS
from env.lab.stock.kernel import NEWEST, VERSIONS
from env.lab.stock.vm import VmLab
from env.network.path import Path
from kernel.kunit.reports import find_reports, kernel_log
from tests.support.guest import shell
from tests.support.models import SLOTS

# congestion control -> its module, a file of build/modules/RELEASE
MODULES = {"ndm": "tcp_ndm", "nv": "tcp_nv"}
MODEL = DATASETS / "models" / "mixed" / "policy.bin"
NDM = "/sys/module/tcp_ndm/ndm"
PATH = Path(rate_mbps=5, rtt_ms=40, jitter_ms=2, loss_pct=0.1)
DURATION_S = 10.0
MIN_MBPS = 1.0  # far below the usual rates: the test checks whether data moves, not how fast
# every module from outside the kernel's tree taints it: out of tree, unsigned
TAINT = 4096 | 8192

# Runs in the guest: rmmod must fail while a socket uses the congestion control, and succeed when it is closed.
UNLOAD = """
import socket, subprocess, sys
def unload():
    return subprocess.run(["rmmod", "{module}"], capture_output=True, text=True)
with socket.socket() as user:
    user.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"{scheme}")
    if not unload().returncode:
        sys.exit("unloaded while a socket used it")
unloaded = unload()
if unloaded.returncode:
    sys.exit("not unloaded: " + unloaded.stderr)
"""


@pytest.mark.timeout(3600)  # QEMU without KVM, on a busy machine
@pytest.mark.parametrize("version", [*VERSIONS, NEWEST])
def test_modules_load_move_data_and_unload(version: str) -> None:
    # the clock counts instructions, so the load of the machine does not matter
    with VmLab(kernel=version, modules=tuple(MODULES.values()), clock="counted") as lab:
        print(shell(lab, "uname -srv"))
        shell(lab, f"printf {MODEL.parent} >/sys/module/firmware_class/parameters/path")
        assert shell(lab, f"echo +ndm {MODEL.name} >{SLOTS}; cat {NDM}/model") == MODEL.name
        assert shell(lab, f"echo +ndm builtin >{SLOTS}; cat {NDM}/counters/model_swaps") == "2"
        for scheme, module in MODULES.items():
            flow = {"scheme": scheme, "start_s": 0.0, "duration_s": DURATION_S}
            result = lab.run(PATH, [flow], DURATION_S, sample_ms=100).flows[0]
            mbps, rtt_ms = result.received_bytes * 8 / DURATION_S / 1e6, float(result.sender["srtt_us"].mean()) / 1e3
            print(f"{scheme}: {mbps:.2f} Mbit/s, mean RTT {rtt_ms:.1f} ms, {result.retransmits} retransmits")
            assert mbps >= MIN_MBPS
            shell(lab, f"python3 -c '{UNLOAD.format(scheme=scheme, module=module)}'")
        assert find_reports(kernel_log(lab)) == []
        assert int(shell(lab, "cat /proc/sys/kernel/tainted")) & ~TAINT == 0
