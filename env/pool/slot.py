"""One lab that does job after job, with the retry policy for labs that fail.

After any error the lab is closed, and the next attempt or job boots another one.

| error | the job |
|---|---|
| GuestDied, GuestFailed, GuestHung | is repeated in a fresh lab, MAX_ATTEMPTS attempts in all |
| GuestHung, MAX_HANGS times | is given up: GuestHung |
| any other, a file that is missing for example | is given up at once: a fresh lab would not help |
| any, after close() | is given up, and no lab boots again |

A retry does not change a result, which is a pure function of the job (env/pool/job.py). GuestFailed is retried, because
in a lab that has run for hours the guest's OOM killer may have killed a program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from env.lab import GuestDied, GuestFailed, GuestHung, Lab, LabError
from env.pool.job import Job

ResultT = TypeVar("ResultT")
BootLab = Callable[[], Lab]  # returns a lab; the slot starts it

RETRIED = (GuestDied, GuestFailed, GuestHung)
MAX_ATTEMPTS = 3
MAX_HANGS = 2  # fewer than MAX_ATTEMPTS: each takes the whole timeout, and a job that hung twice usually hangs again


class LabSlot:
    """A place for one lab, which boots when the first job comes. One thread at a time calls do().

    boot: returns a new lab.
    """

    def __init__(self, boot: BootLab) -> None:
        self._boot = boot
        self._lab: Lab | None = None
        self._lock = threading.Lock()  # of the lab and of _closed
        self._closed = False
        self._busy: tuple[float, float | None] = (0.0, None)  # seconds of ended jobs, start of the current one

    def do(self, job: Job[ResultT]) -> ResultT:
        """Do a job, with retries. Raises the last attempt's error: env.lab.LabError, or what the job raises."""
        ended_s, began = self._busy[0], time.perf_counter()
        self._busy = ended_s, began
        try:
            return self._retry(job)
        finally:
            self._busy = ended_s + time.perf_counter() - began, None

    @property
    def busy_s(self) -> float:
        """Wall seconds in jobs so far, boots included."""
        ended_s, began = self._busy
        return ended_s if began is None else ended_s + time.perf_counter() - began

    def close(self) -> None:
        """End the lab permanently. A job of another thread then fails. Safe to call twice."""
        with self._lock:
            self._closed = True
        self._drop()

    def _retry(self, job: Job[ResultT]) -> ResultT:
        hangs = 0
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return self._attempt(job)
            except RETRIED as error:
                hangs += isinstance(error, GuestHung)
                if attempt == MAX_ATTEMPTS or hangs == MAX_HANGS:
                    raise
        raise AssertionError  # the last attempt returns or raises

    def _attempt(self, job: Job[ResultT]) -> ResultT:
        lab = self._started_lab()
        if job.timeout_s is not None:
            lab.timeout_s = job.timeout_s
        try:
            return job(lab)
        except BaseException as error:
            self._drop()
            if self._closed:
                raise LabError("the labs were closed") from error
            raise

    def _started_lab(self) -> Lab:
        with self._lock:
            if self._closed:
                raise LabError("the labs were closed")
            if self._lab is None:
                lab = self._boot()
                lab.start()
                self._lab = lab
            return self._lab

    def _drop(self) -> None:
        with self._lock:
            lab, self._lab = self._lab, None
            if lab is not None:
                lab.close()
