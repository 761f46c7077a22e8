"""The retry policy of a lab slot, and the interface of a pool, with labs that are none."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from env.errors import UserError
from env.lab import GuestDied, GuestFailed, GuestHung, LabError, LabMissing
from env.pool import LabPool, check_runner, make_pool, wait_all
from env.pool.slot import MAX_ATTEMPTS, MAX_HANGS, LabSlot


class FakeLab:
    """Notes what happens to it."""

    timeout_s = 5.0

    def __init__(self) -> None:
        self.started = self.closed = False
        self.ended = threading.Event()

    def start(self) -> None:
        self.started = True

    def close(self) -> None:
        self.closed = True
        self.ended.set()


@dataclass(frozen=True)
class FakeJob:
    """Calls a function with the lab."""

    work: Callable[[FakeLab], Any]
    cost: float = 0.0
    timeout_s: float | None = None

    def __call__(self, lab: Any) -> Any:
        return self.work(lab)


class Labs:
    """Boots labs, and has them all."""

    def __init__(self) -> None:
        self.all: list[FakeLab] = []

    def __call__(self) -> Any:
        self.all.append(FakeLab())
        return self.all[-1]


def failing(*errors: Exception) -> FakeJob:
    """A job that raises these errors in turn, and then returns "done"."""
    left = list(errors)

    def work(_: FakeLab) -> str:
        if left:
            raise left.pop(0)
        return "done"

    return FakeJob(work)


@pytest.mark.parametrize(
    "errors",
    [
        [GuestDied("x")],
        [GuestFailed("x")],
        [GuestHung("x")],
        [GuestDied("x")] * (MAX_ATTEMPTS - 1),
        [GuestDied("x"), GuestHung("x")],
    ],
)
def test_failed_guest_is_replaced_and_job_repeated(errors: Sequence[Exception]) -> None:
    labs = Labs()
    assert LabSlot(labs).do(failing(*errors)) == "done"
    assert [(lab.started, lab.closed) for lab in labs.all] == [(True, True)] * len(errors) + [(True, False)]


@pytest.mark.parametrize(
    ("errors", "raised", "boots"),
    [
        ([GuestDied("x")] * MAX_ATTEMPTS, GuestDied, MAX_ATTEMPTS),
        ([GuestFailed("x")] * MAX_ATTEMPTS, GuestFailed, MAX_ATTEMPTS),
        ([GuestHung("x")] * MAX_HANGS, GuestHung, MAX_HANGS),
        ([LabMissing("x")], LabMissing, 1),
        ([LabError("x")], LabError, 1),
        ([ValueError("x")], ValueError, 1),
        ([KeyboardInterrupt()], KeyboardInterrupt, 1),
    ],
)
def test_a_job_that_cannot_succeed_is_given_up(
    errors: Sequence[Exception], raised: type[BaseException], boots: int
) -> None:
    labs = Labs()
    slot = LabSlot(labs)
    with pytest.raises(raised):
        slot.do(failing(*errors))
    assert len(labs.all) == boots
    assert all(lab.closed for lab in labs.all), "a lab that has failed is not used again"
    assert slot.do(failing()) == "done"


def test_lab_stays_and_gets_each_jobs_timeout() -> None:
    labs = Labs()
    slot = LabSlot(labs)
    assert slot.do(FakeJob(lambda lab: lab.timeout_s)) == 5.0
    assert slot.do(FakeJob(lambda lab: lab.timeout_s, timeout_s=7.0)) == 7.0
    assert len(labs.all) == 1


def test_nothing_boots_after_close() -> None:
    labs = Labs()
    pool = LabPool(1, labs)

    def die(lab: FakeLab) -> None:
        assert lab.ended.wait(10)
        raise GuestDied("killed by close()")

    running, queued = pool.submit([FakeJob(die), FakeJob(die)])
    while not labs.all:
        time.sleep(0.01)
    pool.close()
    with pytest.raises(LabError, match="the labs were closed"):
        running.result()
    assert queued.cancelled()
    assert len(labs.all) == 1
    pool.close()


def test_longest_jobs_begin_first_results_keep_order() -> None:
    begun: list[float] = []

    def job(cost: float) -> FakeJob:
        return FakeJob(lambda _: begun.append(cost) or cost, cost)

    with LabPool(1, Labs()) as pool:
        gate = threading.Event()
        pool.submit([FakeJob(lambda _: gate.wait())])
        futures = pool.submit([job(1), job(3), job(2)])
        gate.set()
        assert [future.result() for future in futures] == [1, 3, 2]
    assert begun == [3, 2, 1]


def test_an_idle_lab_is_taken_before_another_boots() -> None:
    labs = Labs()
    with LabPool(4, labs) as pool:
        for _ in range(5):
            pool.submit([FakeJob(lambda _: None)])[0].result()
    assert len(labs.all) == 1


def test_busy_time_counts_running_jobs() -> None:
    with LabPool(2, Labs()) as pool:
        gate = threading.Event()
        pool.submit([FakeJob(lambda _: gate.wait())])
        time.sleep(0.05)
        assert 0 < pool.busy_s < 5
        gate.set()


def test_waiting_ends_when_it_should_stop() -> None:
    with LabPool(1, Labs()) as pool:
        gate = threading.Event()
        futures = pool.submit([FakeJob(lambda _: gate.wait())])
        assert not wait_all(futures, lambda: True)
        gate.set()
        assert wait_all(futures, lambda: False)


def test_waiting_raises_the_error_of_a_job() -> None:
    with LabPool(1, Labs()) as pool, pytest.raises(LabMissing):
        wait_all(pool.submit([failing(LabMissing("x"))]), lambda: False)


def test_a_pool_has_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="workers is 0"):
        LabPool(0, Labs())


def test_a_runner_is_checked() -> None:
    check_runner("local", None)
    check_runner("ray", "auto")
    with pytest.raises(ValueError, match="did you mean ray"):
        check_runner("rai", None)
    with pytest.raises(ValueError, match="add runner=ray"):
        check_runner("local", "auto")


def test_without_ray_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "env.pool.ray_pool", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="run `make ray`"):
        make_pool("ray", None, 1, Labs(), {})
