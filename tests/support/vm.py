"""What the tests of the VM lab need."""

from __future__ import annotations

import shutil

import pytest

from env.lab import LabMissing
from env.lab.real_time import PULSE
from env.lab.stock_kernel import StockKernel
from env.lab.vm import QEMU

KERNEL = "6.12"


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
