"""The pool replaces a guest that dies or loses a program, and every job gets its result."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from env.lab import GuestHung, Lab, VirtualLab
from env.network.path import Path
from env.pool import LabPool
from tests.support.guest import kill

FLOWS = [{"scheme": "cubic", "start_s": 0.0, "duration_s": 2.0}]


@dataclass(frozen=True)
class CubicJob:
    """A run of Cubic; its result is the samples of the sender."""

    seed: int
    cost: float = 0.0
    timeout_s: float | None = None

    def __call__(self, lab: Lab) -> Any:
        run = lab.run(Path(rate_mbps=20, rtt_ms=40, loss_pct=1), FLOWS, 2.0, sample_ms=100, seed=self.seed)
        return run.flows[0].sender.rows


class Labs:
    """Boots labs and keeps a list of them."""

    def __init__(self) -> None:
        self.all: list[VirtualLab] = []

    def __call__(self) -> VirtualLab:
        self.all.append(VirtualLab(seed=1))
        return self.all[-1]


def test_dying_lab_is_replaced() -> None:
    labs = Labs()
    with LabPool(1, labs) as pool:
        futures = pool.submit([CubicJob(seed) for seed in range(6)])
        first = futures[0].result()
        os.killpg(labs.all[0].pid, signal.SIGKILL)
        results = [future.result() for future in futures]
        assert np.array_equal(pool.submit([CubicJob(0)])[0].result(), first)
    assert not any(np.array_equal(first, other) for other in results[1:])
    assert len(labs.all) == 2


def test_lab_that_lost_a_program_is_replaced() -> None:
    """The kernel ends a program when the guest has no memory left."""
    labs = Labs()
    with LabPool(1, labs) as pool:
        before = pool.submit([CubicJob(1)])[0].result()
        kill(labs.all[0], "tc")
        after = pool.submit([CubicJob(1)])[0].result()
    assert np.array_equal(before, after)
    assert len(labs.all) == 2


def test_job_that_hangs_twice_is_given_up() -> None:
    labs = Labs()

    @dataclass(frozen=True)
    class StoppedJob(CubicJob):
        timeout_s: float | None = 2.0

        def __call__(self, lab: Lab) -> Any:
            os.killpg(lab.pid, signal.SIGSTOP)
            return super().__call__(lab)

    with LabPool(1, labs) as pool:
        with pytest.raises(GuestHung, match="no answer within 2 s"):
            pool.submit([StoppedJob(1)])[0].result()
        assert len(pool.submit([CubicJob(1, timeout_s=60.0)])[0].result()) > 10
    assert len(labs.all) == 3
