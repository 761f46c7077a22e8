"""The interface of a pool of labs, the pool of this machine, and a function that waits for jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Self, TypeVar

from env.errors import UserError
from env.pool.job import Job
from env.pool.slot import BootLab, LabSlot

ResultT = TypeVar("ResultT")

STOP_POLL_S = 0.2  # wall seconds between two questions whether to stop


class Pool(ABC):
    """Labs that do jobs side by side, with the retry policy of env/pool/slot.py. A context manager.

    workers: number of jobs that run at the same time.
    """

    workers: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, jobs: Sequence[Job[ResultT]]) -> list[Future[ResultT]]:
        """Start jobs, those with the highest cost first. Returns one future for each, in the order of the jobs.

        A future raises what env.pool.slot.LabSlot.do() raises: GuestHung for a job that hangs twice.
        """
        futures = {i: self._submit(jobs[i]) for i in sorted(range(len(jobs)), key=lambda i: jobs[i].cost, reverse=True)}
        return [futures[i] for i in range(len(jobs))]

    @abstractmethod
    def _submit(self, job: Job[ResultT]) -> Future[ResultT]:
        """Start one job."""

    @property
    @abstractmethod
    def busy_s(self) -> float:
        """Wall seconds in jobs so far, boots included, summed over the workers."""

    @abstractmethod
    def close(self) -> None:
        """End the labs; jobs that have not ended are dropped. Safe to call twice."""


class LabPool(Pool):
    """Labs of this machine. Each is a process, for which a thread of this process waits.

    boot: returns a new lab, which the pool starts when its first job comes.
    """

    def __init__(self, workers: int, boot: BootLab) -> None:
        if workers < 1:
            raise UserError(f"workers is {workers}; it must be at least 1")
        self.workers = workers
        self._slots = [LabSlot(boot) for _ in range(workers)]
        self._idle = list(self._slots)  # a stack, so that a slot with a booted lab is taken before an empty one
        self._executor = ThreadPoolExecutor(workers, "lab")

    def _submit(self, job: Job[ResultT]) -> Future[ResultT]:
        return self._executor.submit(self._do, job)

    def _do(self, job: Job[ResultT]) -> ResultT:
        slot = self._idle.pop()
        try:
            return slot.do(job)
        finally:
            self._idle.append(slot)

    @property
    def busy_s(self) -> float:
        """See Pool."""
        return sum(slot.busy_s for slot in self._slots)

    def close(self) -> None:
        """See Pool."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        for slot in self._slots:
            slot.close()
        self._executor.shutdown()


def wait_all(futures: Sequence[Future[Any]], should_stop: Callable[[], bool]) -> bool:
    """Wait until all jobs have ended. Returns False as soon as `should_stop` does; raises a job's error at once."""
    unfinished = set(futures)
    while unfinished:
        if should_stop():
            return False
        done, unfinished = wait(unfinished, timeout=STOP_POLL_S)
        for future in done:
            future.result()
    return True
