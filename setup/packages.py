#!/usr/bin/python3
"""Install the missing packages of the distribution. Asks for root only if a package is missing.

setup/packages.py               packages for building, training and comparing
setup/packages.py PURPOSE...    also those for `make PURPOSE`, or what BESIDES says
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRESS = Path(__file__).with_name("progress.sh")
BUILDING = ["build-essential", "flex", "bison", "bc", "libelf-dev", "xz-utils", "patch", "kmod"]
THE_LAB = ["mininet", "bridge-utils", "iproute2", "net-tools", "procps", "python3-venv"]
# `make lint`, bench-kernel and the VM lab also build for stock kernels. Packages that the distribution does not
# have are left out. They are optional, because Debian's 6.12 headers install a kernel image with them.
STOCK_HEADERS = ["linux-headers-amd64", "linux-headers-6.12-amd64"]
# bench-kernel (studies/Makefile) counts instructions with callgrind, reads the layout of structures with pahole, and
# asks a kernel with bpftool what BPF costs.
COUNTING = ["valgrind", "pahole", "bpftool"]
# compiler and C library for arm64
ARM64 = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]
# what ndmctl is linked with
CTL = ["libbpf-dev", "libelf-dev", "libssl-dev"]
BPF = ["clang", "llvm", *CTL]
# Build-Depends of packaging/debian/control, and what checks the packages
DEB = ["debhelper", "dh-dkms", "lintian", *BPF]
# the fuzz targets; llvm reports their coverage
FUZZ = ["clang", "libclang-rt-dev", "llvm", *CTL]
# what Mininet and its examples call: traffic, captures, Mininet's default switch with its controller, VLANs, NAT
SCRIPTS = [
    *("iputils-ping", "iperf", "iperf3", "telnet", "tcpdump", "openvswitch-switch", "openvswitch-testcontroller"),
    *("vlan", "iptables"),
]
# `make -C packaging host` makes fresh distributions in a chroot, and verifies Ubuntu's keys
HOSTS = ["debootstrap", "curl", "gpg", "ca-certificates"]
# the container, where there is no docker. runc: Debian 12's crun knows no machine with both versions of cgroups.
CONTAINER = ["podman", "runc", "uidmap"]
# `make test` runs the fuzz targets and the integer network on arm64, signs models, and runs Mininet's examples. `make
# test-all` opens reports in a browser, runs `make install`, `make ports` and bench-kernel, and compares request
# times with sockperf's. The tests of a release install packages into systems of debootstrap's, and build an image.
BESIDES = {
    "bpf": BPF,
    "fuzz": FUZZ,
    "lint": ["sparse", *STOCK_HEADERS],
    "scripts": SCRIPTS,
    "tests": ["qemu-user", "openssl", *ARM64, *FUZZ, *SCRIPTS],
    "slow": ["chromium", "dkms", "sockperf", *COUNTING, *STOCK_HEADERS],
    "release": [*HOSTS, *CONTAINER, *DEB, *STOCK_HEADERS],
    "deb": DEB,
    "hosts": HOSTS,
    "container": CONTAINER,
    "bench": [*COUNTING, *BPF, *STOCK_HEADERS],
    "profile": ["linux-perf"],
    "ports": ["patchelf", "sparse", *ARM64, *STOCK_HEADERS],
    "vm": ["qemu-system-x86", "busybox-static", "bpftool", *STOCK_HEADERS],
    "newest": ["patchelf"],
}
OLDEST, PREFERRED = (6, 1), (6, 12)


def installed(package: str) -> bool:
    """Return whether the package is installed."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True, check=False)
    return done.stdout.endswith("install ok installed")


def available(package: str) -> bool:
    """Return whether apt can install the package."""
    done = subprocess.run(["apt-cache", "policy", package], capture_output=True, text=True, check=False)
    return "Candidate:" in done.stdout and "Candidate: (none)" not in done.stdout


def kernel_source() -> str | None:
    """Return the linux-source package to install: 6.12, else the newest from 6.1; None if it is not needed."""
    search = ["apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$"]
    done = subprocess.run(search, capture_output=True, text=True, check=False)
    packages = {}
    for line in done.stdout.splitlines():
        match = re.match(r"(linux-source-(\d+)\.(\d+)(?:\.\d+)?) ", line)
        if match and (version := (int(match[2]), int(match[3]))) >= OLDEST:
            packages[version] = match[1]
    best = packages.get(PREFERRED) or (
        packages[max(packages)] if packages else f"linux-source-{PREFERRED[0]}.{PREFERRED[1]}"
    )
    if installed(best) or (os.environ.get("KERNEL_SRC") and os.path.exists(os.environ["KERNEL_SRC"])):
        return None
    return best


def missing(besides: list[str]) -> list[str]:
    """Return the packages to install. besides: optional ones, left out if the distribution does not have them."""
    names = [name for name in (*BUILDING, *THE_LAB) if not installed(name)]
    source = kernel_source()
    if source:
        names.append(source)
    return names + [name for name in besides if not installed(name) and available(name)]


def run(*command: str) -> int:
    """Run a command that shows its progress in one line, and return its exit status."""
    print(f"setup: {' '.join(command)}", flush=True)
    return subprocess.run([PROGRESS, "setup", *command], check=False).returncode


def main(arguments: list[str]) -> int:
    """Install the packages; returns the exit status."""
    if not set(arguments) <= BESIDES.keys():
        print(f"usage: setup/packages.py [{'|'.join(BESIDES)}]...", file=sys.stderr)
        return 2
    besides = list(dict.fromkeys(name for argument in arguments for name in BESIDES[argument]))
    if not shutil.which("apt-get"):
        print("setup: no apt-get here; the lab runs on Debian and Ubuntu", file=sys.stderr)
        return 1
    names = missing(besides)
    if not names:
        return 0
    print(f"setup: these packages of the distribution are missing: {' '.join(names)}")
    as_root = [*([] if os.geteuid() == 0 else ["sudo"]), "env", "DEBIAN_FRONTEND=noninteractive"]
    if as_root[0] == "env" or shutil.which("sudo"):
        # the package lists of a new machine may be old, and the newest packages decide which kernel source is installed
        run(*as_root, "apt-get", "update")
        names = missing(besides)
    command = [*as_root, "apt-get", "install", "--yes", "--no-install-recommends", *names]
    if not shutil.which(as_root[0]):
        install = " ".join(command[3:])
        print(f"setup: ask the machine's administrator for them: apt-get update && {install}", file=sys.stderr)
        return 1
    return run(*command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
