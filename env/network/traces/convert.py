"""Converts link traces and delay traces from and to CSV.

A CSV file has a header with the columns ``time_s`` or ``time_ms`` and ``mbps`` (of a link trace, in Mbit/s of 1500-byte
packets) or ``delay_ms`` (of a delay trace, one way); other columns are ignored. Times count from the first row's, so
they may be Unix time. Each row holds from its time until the next row's, and the last one as long as the row before it.
CSV of a link trace has its whole intervals. A file whose name has any other ending is read in the output's format.
"""

from __future__ import annotations

import csv
import gzip
import math
from array import array
from pathlib import Path

import numpy as np
import numpy.typing as npt

from env.errors import UserError
from env.network.traces import delay
from env.network.traces.delay import INTERVAL_MS, MAX_DELAY_MS, DelayTrace, parse_delay_trace
from env.network.traces.format import MAX_DURATION_MS, MAX_PACKETS, PACKET_BITS, SUFFIXES, Trace, parse_trace, read_text
from env.network.traces.statistics import rates_mbps

Floats = npt.NDArray[np.float64]

CSV = ".csv"
TIMES = {"time_s": 1e3, "time_ms": 1.0}  # ms in a unit
LATEST = 1e15  # of a first row, in its unit
VALUES = {"mbps": 100_000.0, "delay_ms": float(MAX_DELAY_MS)}  # column to its maximum


def convert(source: Path, output: Path, interval_ms: int, start_s: float = 0.0) -> str:
    """Write the source in the format of the output's name; return a line about the result.

    interval_ms: between two rows of a CSV output of a link trace. start_s: where in the source a link trace begins; its
    beginning then follows at the end. Raises UserError, which names line and value.
    """
    if not 1 <= interval_ms <= 60_000:
        raise UserError(f"interval_ms is {interval_ms}; it must lie between 1 and 60000")
    name = output.name
    if name.endswith(SUFFIXES):
        return _write_link(output, begun_at(_link(source), start_s))
    if start_s:
        raise UserError(f"start_s is {start_s:g}, but output is {output}; only link traces can begin elsewhere")
    if name.endswith(delay.SUFFIXES):
        return _write_delay(output, _delay(source))
    if not name.endswith(CSV):
        endings = ", ".join([*SUFFIXES, *delay.SUFFIXES, CSV])
        raise UserError(f"output is {output}; its name must end in one of {endings}")
    if source.name.endswith(delay.SUFFIXES):
        delays_ms = _delay(source).delays_ms
        return _write_csv(output, "delay_ms", INTERVAL_MS, np.frombuffer(delays_ms))
    if source.name.endswith(SUFFIXES):
        trace = _link(source)
        times_ms = np.frombuffer(trace.times_ms, dtype=np.uint64).astype(np.int64)
        return _write_csv(output, "mbps", interval_ms, rates_mbps(times_ms, trace.duration_ms, interval_ms))
    raise UserError(f"input is {source}; to write CSV, its name must end in {', '.join([*SUFFIXES, *delay.SUFFIXES])}")


def _link(source: Path) -> Trace:
    if source.name.endswith(CSV):
        return link_from_rates(str(source), *_read_csv(source, "mbps"))
    return parse_trace(str(source), read_text(source), str(source))


def _delay(source: Path) -> DelayTrace:
    if source.name.endswith(CSV):
        return delay_from_samples(str(source), *_read_csv(source, "delay_ms"))
    return parse_delay_trace(str(source), read_text(source))


def begun_at(trace: Trace, start_s: float) -> Trace:
    """Return a link trace that begins start_s later and ends with what came before.

    Its last packet is delivered at its end, because a trace lasts until its last delivery. Raises UserError for a
    start outside of the trace.
    """
    start_ms = round(start_s * 1e3)
    if not 0 <= start_ms < trace.duration_ms:
        end_s = trace.duration_ms / 1e3
        raise UserError(f"start_s is {start_s:g}; it must lie between 0 and the trace's end, {end_s:g}")
    times_ms = np.frombuffer(trace.times_ms, dtype=np.uint64).astype(np.int64)
    after = times_ms > start_ms
    moved_ms = np.concatenate([times_ms[after] - start_ms, times_ms[~after] + trace.duration_ms - start_ms])
    moved_ms[-1] = trace.duration_ms
    return Trace(trace.name, array("L", moved_ms.tolist()))


def link_from_rates(name: str, ends_ms: Floats, rates: Floats) -> Trace:
    """Return the link trace of rates, Mbit/s, that hold until ends_ms; both of shape (rows,).

    A packet is delivered in the millisecond in which it is complete. The last one is delivered at the end, because a
    trace lasts until its last delivery. Raises UserError for too few or too many packets.
    """
    lengths_ms = np.diff(ends_ms, prepend=0.0)
    due = np.concatenate([[0.0], np.cumsum(lengths_ms * rates * 1e3 / PACKET_BITS)])  # packets, (rows + 1,)
    packets = math.floor(due[-1] + 1e-6)
    if not 1 <= packets <= MAX_PACKETS:
        raise UserError(f"{name}: the rates deliver {packets} packets; a trace has 1 to {MAX_PACKETS}")
    starts_ms = np.concatenate([[0.0], ends_ms])
    complete = np.arange(1, packets + 1) - 1e-9
    row = np.searchsorted(due, complete, side="left")  # the row in which a packet is completed, from 1
    share = (complete - due[row - 1]) / (due[row] - due[row - 1])
    times_ms = np.maximum(np.ceil(starts_ms[row - 1] + share * lengths_ms[row - 1] - 1e-6), 1).astype(np.int64)
    times_ms[-1] = max(round(ends_ms[-1]), 1)
    return Trace(name, array("L", times_ms.tolist()))


def delay_from_samples(name: str, ends_ms: Floats, delays_ms: Floats) -> DelayTrace:
    """Return the delay trace of delays, ms, that hold until ends_ms; both of shape (rows,)."""
    middles_ms = np.arange(max(round(ends_ms[-1] / INTERVAL_MS), 1)) * INTERVAL_MS + INTERVAL_MS / 2
    rows = np.minimum(np.searchsorted(ends_ms, middles_ms, side="right"), delays_ms.size - 1)
    return DelayTrace(name, array("d", delays_ms[rows].tolist()))


def _read_csv(file: Path, value: str) -> tuple[Floats, Floats]:
    """Return until when each row holds, ms since the first, and the values of a column, both (rows,)."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:  # spreadsheets write a byte order mark
            reader = csv.DictReader(lines)
            header = [column.strip() for column in reader.fieldnames or []]
            reader.fieldnames = header
            time = next((column for column in TIMES if column in header), None)
            if time is None or value not in header:
                one_way = ", of one way" if value == "delay_ms" else ""
                commas = "; commas separate columns, and decimals have a point" if ";" in ",".join(header) else ""
                raise UserError(
                    f"{file}: the header is {','.join(header)!r}; it must have {' or '.join(TIMES)}, and {value}"
                    f"{one_way}{commas}"
                )
            begins_ms: list[float] = []
            values: list[float] = []
            for row in reader:
                where = f"{file}:{reader.line_num}"
                latest = (begins_ms[0] + MAX_DURATION_MS) / TIMES[time] if begins_ms else LATEST
                ms = _number(where, time, row[time], latest) * TIMES[time]
                if begins_ms and ms <= begins_ms[-1]:
                    raise UserError(f"{where}: {time} is {row[time]}, but times must rise from row to row")
                begins_ms.append(ms)
                values.append(_number(where, value, row[value], VALUES[value]))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file} cannot be read as CSV: {error}") from error
    if len(values) < 2:
        raise UserError(f"{file} has {len(values)} rows; it needs two at least")
    begins = np.array(begins_ms)
    ends = np.append(begins[1:], 2 * begins[-1] - begins[-2]) - begins[0]
    return ends, np.array(values)


def _number(where: str, column: str, text: str | None, most: float) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise UserError(f"{where}: {column} is {text!r}; it must be a number from 0 to {most:.15g}")
    return number


def _write_link(output: Path, trace: Trace) -> str:
    _write(output, trace.text())
    return f"{output}: {trace.duration_ms / 1e3:g} s, mean {trace.mean_mbps:.4g} Mbit/s"


def _write_delay(output: Path, trace: DelayTrace) -> str:
    _write(output, trace.text())
    return f"{output}: {len(trace.delays_ms) * INTERVAL_MS / 1e3:g} s, mean one-way delay {trace.mean_ms:.4g} ms"


def _write_csv(output: Path, column: str, interval_ms: int, values: Floats) -> str:
    rows = [f"{index * interval_ms / 1e3:.3f},{value:.6g}\n" for index, value in enumerate(values.tolist())]
    _write(output, "".join([f"time_s,{column}\n", *rows]))
    return f"{output}: {len(rows)} rows, one each {interval_ms} ms"


def _write(output: Path, text: str) -> None:
    data = text.encode()
    try:
        output.write_bytes(gzip.compress(data, mtime=0) if output.name.endswith(".gz") else data)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from error
