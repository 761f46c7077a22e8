"""Virtual labs for the tests: booted once for a module, and checked when they close."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from env.checkout import BUILD
from env.lab import Lab, VirtualLab
from env.lab.reports import LeakWatch, find_reports, kernel_log
from tests.support.guest import shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SANITIZER_MODULES = BUILD / "modules" / "sanitizer"


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
