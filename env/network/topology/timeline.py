"""Carries out a path's steps, and the changes of its delay trace, at their times during a run. Runs in the guest."""

from __future__ import annotations

import heapq
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Self

from env.network.path import Path
from env.network.traces.delay import load_delay_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from env.network.topology.path_topology import Topology

# Event.wait() ends up to a microsecond late, by the time at which it began, and that depends on the runs before. So it
# ends early, and a sleep of nanoseconds' precision waits for the rest.
EARLY_NS = 20_000


class Timeline:
    """A context manager around a run: a thread sleeps until each step or change of delay is due and carries it out.

    A step is at most a virtual millisecond late. Steps at the end of the run, or later, are left out. A step that fails
    ends the timeline, and its LinkError is raised when the run is over.
    """

    def __init__(self, topology: Topology, path: Path, origin_ns: int, duration_s: float) -> None:
        self._topology = topology
        self._path = path
        self._origin_ns = origin_ns
        self._duration_s = duration_s
        self._over = threading.Event()
        self._moves = bool(path.steps or path.delay_trace)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._take_steps, name="timeline")

    def __enter__(self) -> Self:
        if self._moves:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._moves:
            self._thread.join()
        if self._error is not None and value is None:
            raise self._error

    def _take_steps(self) -> None:
        try:
            for at_s, carry_out in heapq.merge(self._steps(), self._delays(), key=lambda event: event[0]):
                if at_s >= self._duration_s or self._is_over_before(self._origin_ns + round(at_s * 1e9)):
                    return
                carry_out()
        except Exception as error:  # __exit__() raises it
            self._error = error

    def _is_over_before(self, due_ns: int) -> bool:
        """Wait until due_ns of CLOCK_MONOTONIC; return True at once when the run is over."""
        if self._over.wait(max(0, due_ns - EARLY_NS - time.monotonic_ns()) / 1e9):
            return True
        # half a nanosecond less, because sleep() rounds up
        time.sleep(max(0.0, due_ns - time.monotonic_ns() - 0.5) / 1e9)
        return False

    def _steps(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """Yield the time of each step, s, and a function that carries it out."""
        before = self._path
        for step in self._path.steps:
            after = before.after(step)
            yield step.at_s, partial(self._topology.step, before, after)
            before = after

    def _delays(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """Yield the time of each change of the delay trace, s, and a function that carries it out."""
        if self._path.delay_trace:
            changes = load_delay_trace(self._path.delay_trace).changes()
            next(changes)  # the path begins with it
            for at_s, delay_ms in changes:
                yield at_s, partial(self._topology.change_delay, self._path, delay_ms)
