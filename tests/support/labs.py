"""Virtual labs for the tests, booted once for a module and checked when they close, and the decisions in a trace."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from env.checkout import BUILD, KERNEL
from env.lab import Lab, VirtualLab
from env.pool import LabPool
from kernel.kunit.reports import LeakWatch, find_reports, kernel_log
from tests.support.guest import shell

SANITIZER_MODULES = BUILD / "modules" / "sanitizer"
DECISION = re.compile(r"flow=(\d+) decision=(\d+) x=([-\d,]+) action=([-\d,]+) cwnd=(\d+) srtt_us=\d+ model=(\d+)")


@contextmanager
def checked_lab(
    *modules: str | Path, seed: int = 1, variant: str = "lab", leaks: bool = False, **options: Any
) -> Iterator[Lab]:
    """Boot a virtual lab; at the end its kernel must have reported nothing.

    leaks: with the sanitizer kernel, that nothing was leaked either. options: as in VirtualLab.
    """
    defaults = {"timeout_s": 400.0, "memory_mb": 1024 if variant == "sanitizer" else 512}
    with VirtualLab(seed=seed, modules=modules, variant=variant, **{**defaults, **options}) as lab:
        watch = LeakWatch(lab) if leaks and variant == "sanitizer" else None
        yield lab
        assert watch is None or watch.leaks() == []
        assert find_reports(kernel_log(lab)) == []


def shared_lab(
    *modules: str, setup: str | Callable[[Lab], object] = "true", both_kernels: bool = False, **options: Any
) -> Any:
    """Return a fixture: a virtual lab that the tests of a module share, `lab = shared_lab("tcp_nv", seed=5)`.

    setup: a shell command in the booted lab, or a function of the lab. both_kernels: the tests run in the sanitizer
    kernel too, when pytest is called with --sanitizer. options: as in checked_lab().
    """

    def boot(variant: str) -> Iterator[Lab]:
        with checked_lab(*modules, variant=variant, **options) as lab:
            if isinstance(setup, str):
                shell(lab, setup)
            else:
                setup(lab)
            yield lab

    only = options.pop("variant", "lab")

    @pytest.fixture(scope="module")
    def in_one_kernel() -> Iterator[Lab]:
        yield from boot(only)

    @pytest.fixture(scope="module")
    def in_both_kernels(variant: str) -> Iterator[Lab]:
        yield from boot(variant)

    return in_both_kernels if both_kernels else in_one_kernel


def build_modules(folder: Path, *arguments: str | Path, variant: str = "lab", **environment: str) -> Path:
    """Build modules for a lab's kernel into the folder, without a warning. arguments: as of kernel/build.sh."""
    command = [KERNEL / "build.sh", folder, BUILD / f"{variant}-kernel" / "tree", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    assert done.stdout + done.stderr == ""
    return folder


def lab_pool(workers: int = 1) -> LabPool:
    """Return a pool of virtual labs."""
    return LabPool(workers, partial(VirtualLab, seed=1))


class Decision(NamedTuple):
    """A line of the tracepoint ndm_decision: x in Q12, action in Q14, model as the number of the model's exchange."""

    flow: int
    number: int
    x: tuple[int, ...]
    action: tuple[int, ...]
    cwnd: int
    model: int


def traced_decisions(trace: list[str]) -> list[Decision]:
    """Return the decisions of a run's trace; other lines are left out."""
    decisions = []
    for flow, number, x, action, cwnd, model in (match.groups() for match in map(DECISION.search, trace) if match):
        inputs, outputs = (tuple(map(int, numbers.split(","))) for numbers in (x, action))
        decisions.append(Decision(int(flow), int(number), inputs, outputs, int(cwnd), int(model)))
    return decisions
