"""Reads and checks delay traces: the delay of a path over time.

A delay trace is text with one line per 10 ms: the one-way delay of a packet that is sent then, ms, in each direction.
It repeats after its last line. It has the format of LeoReplayer's delay traces (Z. Lai et al., LeoCC, SIGCOMM 2025),
besides fractions of a millisecond. A file whose name ends in .gz is compressed.

Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from env.errors import UserError
from env.network.traces.format import MAX_DURATION_MS, find_trace, read_text
from env.network.traces.handed_over import text_handed_over

SUFFIXES = (".delay", ".delay.gz")
INTERVAL_MS = 10
MAX_DELAY_MS = 10_000
_NUMBER = re.compile(r"[0-9]{1,8}(\.[0-9]{1,17})?", re.ASCII)


@dataclass(frozen=True)
class DelayTrace:
    """A checked delay trace. delays_ms: one-way delay in each interval of INTERVAL_MS."""

    name: str
    delays_ms: array[float]

    @property
    def mean_ms(self) -> float:
        """Mean one-way delay, ms."""
        return math.fsum(self.delays_ms) / len(self.delays_ms)

    def changes(self) -> Iterator[tuple[float, float]]:
        """Yield when the delay differs from before, s since the trace began, and the delay, ms; it does not end.

        The first is at 0. Nothing is yielded for a trace of one delay after that, so the iterator then ends.
        """
        before, constant = math.nan, len(set(self.delays_ms)) == 1
        index = 0
        while index == 0 or not constant:
            delay_ms = self.delays_ms[index % len(self.delays_ms)]
            if delay_ms != before:
                yield index * INTERVAL_MS / 1e3, delay_ms
            before = delay_ms
            index += 1

    def text(self) -> str:
        """Return the text of the trace's file, in nanoseconds' precision."""
        texts = (f"{delay_ms:.6f}".rstrip("0").rstrip(".") for delay_ms in self.delays_ms)
        return "".join(f"{text}\n" for text in texts)


def load_delay_trace(name: str) -> DelayTrace:
    """Return a delay trace by its name or path. Raises UserError for one that is unknown or malformed."""
    text = text_handed_over(name)
    return _parsed(name, read_text(find_trace(name, SUFFIXES)) if text is None else text)


@lru_cache(maxsize=16)
def _parsed(name: str, text: str) -> DelayTrace:
    return parse_delay_trace(name, text)


def parse_delay_trace(name: str, text: str) -> DelayTrace:
    """Return the delay trace of a text. Raises UserError that names the trace and the line."""
    if not text.strip():
        raise UserError(f"{name}: the delay trace is empty; it needs a line for each {INTERVAL_MS} ms")
    delays_ms = array("d")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        if not _NUMBER.fullmatch(line) or float(line) > MAX_DELAY_MS:
            raise UserError(
                f"{name}:{number}: {line[:40]!r} is no delay; it must be a number of milliseconds from 0 to "
                f"{MAX_DELAY_MS}"
            )
        delays_ms.append(float(line))
    if len(delays_ms) * INTERVAL_MS > MAX_DURATION_MS:
        raise UserError(f"{name}: the delay trace is too long; it lasts at most {MAX_DURATION_MS} ms")
    return DelayTrace(name, delays_ms)
