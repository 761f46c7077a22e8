"""Reads and checks link traces in Mahimahi's format.

A trace is text with one line per delivery opportunity: its time in whole milliseconds since the beginning of the trace,
in non-decreasing order. Equal lines are several opportunities in that millisecond. The trace repeats after its last
time. An opportunity delivers one packet of 1500 bytes (Mahimahi counts 1504, with the header of its tunnel device).
kernel/lab/sch_linktrace.c specifies the delivery of other sizes, byte by byte.

A file whose name ends in .gz is compressed. Standard library only: the guest agent imports this module.
"""

from __future__ import annotations

import re
import zlib
from array import array
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from env.checkout import DATASETS
from env.errors import UserError, suggest
from env.files import read_at_most, regular
from env.network.traces.handed_over import text_handed_over

FOLDER = DATASETS / "traces"
SUFFIXES = (".trace", ".trace.gz")
PACKET_BITS = 1500 * 8
# Limits of the kernel module.
MAX_DURATION_MS = 24 * 3600 * 1000
MAX_TIMES = 1 << 22  # different ones
MAX_DIGITS = 20  # of a time, including leading zeros
MAX_PACKETS = 50_000_000
MAX_BYTES = 1 << 29  # of a file's text: more than that of MAX_PACKETS in a day
_NUMBER = re.compile(r"[0-9]+", re.ASCII)


@dataclass(frozen=True)
class Trace:
    """A checked trace. times_ms: times of all opportunities, non-decreasing, the last above 0."""

    name: str
    times_ms: array[int]

    @property
    def duration_ms(self) -> int:
        """Length of the trace, after which it repeats, ms."""
        return self.times_ms[-1]

    @property
    def mean_mbps(self) -> float:
        """Mean rate if every opportunity delivers a 1500-byte packet, Mbit/s."""
        return len(self.times_ms) * PACKET_BITS / self.duration_ms / 1e3

    def text(self) -> str:
        """Return the text of the trace's file."""
        return "".join(f"{ms}\n" for ms in self.times_ms)


def trace_names(suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """Return the sorted names of the project's traces, such as train/lte-driving. suffixes: of the files' names."""
    return sorted(_name(file, suffixes) for suffix in suffixes for file in FOLDER.rglob(f"*{suffix}"))


def find_trace(name: str, suffixes: tuple[str, ...] = SUFFIXES) -> Path:
    """Return the file of a trace, given one of trace_names() or the path of a file whose name ends in a suffix.

    Raises UserError for a name that is neither, with near matches and all names.
    """
    if name.endswith(suffixes):
        file = regular(Path(name))
        if not file.is_file():
            raise UserError(f"trace {name!r} does not exist: give one of {_listed(suffixes)}, or the path of a file")
        return file
    for suffix in suffixes:
        file = FOLDER / f"{name}{suffix}"
        if file.is_file():
            return file
    hint = suggest(name, trace_names(suffixes))
    raise UserError(
        f"trace {name!r} is unknown{hint}The traces are {_listed(suffixes)}; or give the path of a file whose name "
        f"ends in {' or '.join(suffixes)}; `python -m env.network.traces convert` makes one of other files"
    )


def load_trace(name: str) -> Trace:
    """Return a trace by its name or path. Raises UserError for one that is unknown or malformed."""
    text = text_handed_over(name)
    if text is not None:
        return _parsed(name, text, name)
    file = find_trace(name)
    status = file.stat()
    return _load(name, file, status.st_mtime_ns, status.st_size)


def file_text(file: str) -> str:
    """Return the text of a trace file, given its absolute path. Raises UserError when it cannot be read."""
    text = text_handed_over(file)
    return read_text(Path(file)) if text is None else text


@lru_cache(maxsize=16)
def _load(name: str, file: Path, _mtime_ns: int, _size: int) -> Trace:
    return parse_trace(name, read_text(file), str(file))


@lru_cache(maxsize=16)
def _parsed(name: str, text: str, where: str) -> Trace:
    return parse_trace(name, text, where)


def read_text(file: Path) -> str:
    """Return the uncompressed text of a file, lines ending in "\\n". Raises UserError when it cannot be read."""
    try:
        return read_at_most(file, MAX_BYTES).decode("ascii").replace("\r\n", "\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read as a trace: {error}") from error


def parse_trace(name: str, text: str, where: str) -> Trace:
    """Return the trace of a text. Raises UserError that names `where` and the line."""
    if text.count("\n") > MAX_PACKETS:
        raise UserError(f"{where}: the trace has more than {MAX_PACKETS} lines, the most that a trace may have")
    times_ms = array("L")
    before = 0
    different = 0
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        if not _NUMBER.fullmatch(line):
            if not text.strip():
                raise UserError(f"{where}: the trace is empty; it needs a line for each delivery opportunity")
            raise UserError(f"{where}:{number}: {line[:40]!r} is no time; it must be a whole number of milliseconds")
        ms = int(line) if len(line) <= MAX_DIGITS else MAX_DURATION_MS + 1
        if ms > MAX_DURATION_MS:
            raise UserError(f"{where}:{number}: {line[:40]} ms is too late; a trace lasts at most {MAX_DURATION_MS} ms")
        if ms < before:
            raise UserError(f"{where}:{number}: {ms} comes after {before}; times must not fall")
        different += ms > before or number == 1
        if different > MAX_TIMES:
            raise UserError(f"{where}:{number}: the trace has more than {MAX_TIMES} different times")
        times_ms.append(ms)
        before = ms
    if not before:
        raise UserError(f"{where}:{len(times_ms)}: the trace ends at 0; it must last a millisecond at least")
    return Trace(name, times_ms)


def _name(file: Path, suffixes: tuple[str, ...]) -> str:
    name = file.relative_to(FOLDER).as_posix()
    return next(name.removesuffix(suffix) for suffix in reversed(suffixes) if name.endswith(suffix))


def _listed(suffixes: tuple[str, ...]) -> str:
    return ", ".join(trace_names(suffixes)) or "(none)"
