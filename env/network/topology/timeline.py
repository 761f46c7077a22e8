"""Carries out a path's steps at their times during a run. Runs in the guest."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from env.network.path import Path

if TYPE_CHECKING:
    from types import TracebackType

    from env.network.topology.path_topology import Topology


class Timeline:
    """A context manager around a run: a thread sleeps until each step is due and carries it out.

    A step is at most a virtual millisecond late. Steps after the end of the run are left out. A step that fails ends
    the timeline, and its LinkError is raised when the run is over.
    """

    def __init__(self, topology: Topology, path: Path, origin_ns: int) -> None:
        self._topology = topology
        self._path = path
        self._origin_ns = origin_ns
        self._over = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._take_steps, name="timeline")

    def __enter__(self) -> Self:
        if self._path.steps:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._path.steps:
            self._thread.join()
        if self._error is not None and value is None:
            raise self._error

    def _take_steps(self) -> None:
        path = self._path
        for step in self._path.steps:
            due_ns = self._origin_ns + round(step.at_s * 1e9)
            if self._over.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
                return
            after = path.after(step)
            try:
                self._topology.step(path, after)
            except Exception as error:  # __exit__() raises it
                self._error = error
                return
            path = after
