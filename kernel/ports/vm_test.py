# SPDX-License-Identifier: GPL-2.0
"""Test the modules in stock kernels under QEMU: load, change the model, transfer data, unload, no warning in the log.

make -C packaging vm-test                    6.1, 6.12 and the newest
python -m kernel.ports.vm_test VERSION ...    other kernels that have been fetched
"""

from __future__ import annotations

import argparse
import sys
import time

from env.checkout import DATASETS
from env.lab import LabError
from env.lab.stock.kernel import NEWEST, VERSIONS
from env.lab.stock.vm import VmLab
from env.network.path import Path
from kernel.kunit.reports import find_reports, kernel_log

# congestion control -> its module, a file of build/modules/RELEASE
MODULES = {"ndm": "tcp_ndm", "nv": "tcp_nv"}
MODEL = DATASETS / "models" / "mixed" / "policy.bin"
PATH = Path(rate_mbps=5, rtt_ms=40, jitter_ms=2, loss_pct=0.1)
DURATION_S = 10.0
MIN_MBPS = 1.0  # far below the usual rates: the test checks whether data moves, not how fast


def test_scheme(lab: VmLab, scheme: str) -> list[str]:
    """Transfer data with a congestion control, then test its unloading. Returns the problems."""
    module = MODULES[scheme]
    problems = []
    flow = {"scheme": scheme, "start_s": 0.0, "duration_s": DURATION_S}
    flow_result = lab.run(PATH, [flow], DURATION_S, sample_ms=100).flows[0]
    mbps = flow_result.received_bytes * 8 / DURATION_S / 1e6
    rtt_ms = float(flow_result.sender["srtt_us"].mean()) / 1e3
    print(f"  {scheme}: {mbps:.2f} Mbit/s, mean RTT {rtt_ms:.1f} ms, {flow_result.retransmits} retransmits", flush=True)
    if mbps < MIN_MBPS:
        problems.append(f"{scheme} moved {mbps:.2f} Mbit/s; at least {MIN_MBPS:g} is expected")
    reply = lab.call("shell", command=f"python3 -c '{UNLOAD.format(scheme=scheme, module=module)}'")
    print(f"  {module}: {reply['stdout'].strip() or reply['stderr'].strip()}")
    if reply["status"]:
        problems.append(f"{module}: {reply['stderr'].strip()}")
    return problems


def test_swap(lab: VmLab) -> list[str]:
    """Load a model file through the firmware loader, then return to the built-in model. Returns the problems."""
    command = (
        f"printf {MODEL.parent} >/sys/module/firmware_class/parameters/path; cd /sys/module/tcp_ndm && "
        f"slots=parameters/slots; echo +ndm {MODEL.name} >$slots && cat ndm/model ndm/sha256 && "
        f"echo +ndm builtin >$slots && cat ndm/counters/model_swaps"
    )
    reply = lab.call("shell", command=command)
    if reply["status"]:
        return [f"the model file was refused: {reply['stderr'].strip()}"]
    file, sha256, swaps = reply["stdout"].split()
    print(f"  model {file}, SHA-256 {sha256[:16]}, loaded, then replaced by the built-in model: {swaps} swaps")
    return [] if (file, swaps) == (MODEL.name, "2") else [f"the model in use is {file} after {swaps} swaps"]


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
print("unloading refused while a socket uses it, then unloaded")
"""


def test_kernel(version: str) -> list[str]:
    """Boot a kernel and test all modules in it. Returns the problems."""
    began = time.monotonic()
    # the clock counts instructions, so the load of the machine does not matter
    with VmLab(kernel=version, modules=tuple(MODULES.values()), clock="counted") as lab:
        banner = str(lab.call("shell", command="uname -srv")["stdout"]).strip()
        print(f"{banner}: booted, modules loaded in {time.monotonic() - began:.0f} s", flush=True)
        problems = test_swap(lab)
        problems += [problem for scheme in MODULES for problem in test_scheme(lab, scheme)]
        log = kernel_log(lab)
        tainted = int(lab.call("shell", command="cat /proc/sys/kernel/tainted")["stdout"])
    reports = find_reports(log)
    print(f"  kernel log: {len(log.splitlines())} lines, {len(reports)} reports; taint {tainted}")
    # every module from outside the kernel's tree sets these: out of tree (4096), unsigned (8192)
    if tainted & ~(4096 | 8192):
        problems.append(f"the kernel is tainted with {tainted}")
    return [f"{version}: {problem}" for problem in problems + reports]


def main() -> int:
    """Test all kernels; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default = (*VERSIONS, NEWEST)
    parser.add_argument("versions", nargs="*", metavar="VERSION", default=default, help=f"default: {' '.join(default)}")
    problems = []
    try:
        for version in parser.parse_args().versions:
            problems += test_kernel(version)
    except LabError as error:
        problems.append(str(error))
    for problem in problems:
        print(f"vm-test: {problem}", file=sys.stderr)
    print(f"vm-test: {'failed' if problems else 'passed'}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
