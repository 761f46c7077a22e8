"""Tests in real time, which a machine that stands still for a moment makes fail."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

PAUSE_S = 0.01
STALL_S = 0.05  # half of what the shortest wait of such a test leaves
ATTEMPTS = 3


class Stalls:
    """Measures how late this process wakes up. longest_s: the longest so far; the thread ends with the context."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        due = time.monotonic() + PAUSE_S
        while not self._ended.wait(PAUSE_S):
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - due)
            due = now + PAUSE_S


def repeated_after_a_stall(test: Callable[P, None]) -> Callable[P, None]:
    """Repeat a test that fails while the machine stood still for STALL_S, ATTEMPTS times in all."""

    @functools.wraps(test)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            with Stalls() as stalls:
                try:
                    test(*args, **kwargs)
                    return
                except Exception as error:
                    if attempt == ATTEMPTS or stalls.longest_s < STALL_S:
                        error.add_note(f"attempt {attempt}; the machine stood still for {stalls.longest_s:.2f} s")
                        raise

    return repeated
