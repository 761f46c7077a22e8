"""Traces from CSV, to CSV, and from files with other endings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from env.network.traces.convert import convert
from env.network.traces.delay import load_delay_trace
from env.network.traces.format import load_trace
from tests.support.commands import run_python


def test_rates_become_deliveries(tmp_path: Path) -> None:
    source, output = tmp_path / "rates.csv", tmp_path / "mine.trace"
    # 12 Mbit/s are a packet per ms; nothing for 100 ms; 24 Mbit/s
    source.write_text("time_s,signal,mbps\n5.0,a,12\n5.1,b,0\n5.2,c,24\n")
    convert(source, output, 100)
    times_ms = np.array(load_trace(str(output)).times_ms)
    assert times_ms[:100].tolist() == list(range(1, 101))
    assert times_ms[100:].tolist() == [ms for ms in range(201, 301) for _ in range(2)]


def test_unix_times_count_from_the_first_row(tmp_path: Path) -> None:
    source, link, delay = tmp_path / "log.csv", tmp_path / "mine.trace", tmp_path / "mine.delay"
    source.write_text("time_s,mbps,rsrp\n1714560000.25,12,-105\n1714560000.5,24,-83\n")
    assert convert(source, link, 100).endswith(": 0.5 s, mean 18 Mbit/s")
    source.write_text("time_ms,delay_ms\n1714560000000,31\n1714560000200,59\n")
    assert convert(source, delay, 100).endswith(": 0.4 s, mean one-way delay 45 ms")


def test_an_outage_at_the_end_keeps_the_length(tmp_path: Path) -> None:
    source, output = tmp_path / "rates.csv", tmp_path / "mine.trace"
    source.write_text("time_ms,mbps\n0,12\n100,0\n200,0\n")
    convert(source, output, 100)
    trace = load_trace(str(output))
    assert trace.duration_ms == 300
    assert list(trace.times_ms) == [*range(1, 100), 300]


@pytest.mark.parametrize("name", ["held_out/lte-walking", "held_out/5g-driving", "train/wifi"])
def test_a_link_survives_csv_within_a_packet(tmp_path: Path, name: str) -> None:
    first, table, second = tmp_path / "a.trace", tmp_path / "b.csv", tmp_path / "c.trace.gz"
    first.write_text(load_trace(name).text())
    convert(first, table, 20)
    convert(table, second, 20)
    before, after = (np.array(load_trace(str(file)).times_ms) for file in (first, second))
    assert after[-1] == before[-1]
    edges = np.arange(0, before[-1], 20) + 20
    counts = [np.searchsorted(times, edges, side="right") for times in (before, after)]
    assert np.abs(counts[0] - counts[1]).max() <= 1


def test_delays_survive_csv(tmp_path: Path) -> None:
    first, table, second = tmp_path / "a.delay", tmp_path / "b.csv", tmp_path / "c.delay"
    first.write_text("12\n12.5\n30\n30\n7\n")
    assert "5 rows" in convert(first, table, 100)
    convert(table, second, 100)
    assert second.read_text() == first.read_text()
    table.write_text("time_ms,delay_ms\n0,10\n25,20\n50,30\n")
    convert(table, second, 100)
    assert list(load_delay_trace(str(second)).delays_ms) == [10, 10, 20, 20, 20, 30, 30, 30]


def test_a_file_with_another_ending_is_checked_and_renamed(tmp_path: Path) -> None:
    source = tmp_path / "Verizon-LTE-driving.down"
    source.write_text("1\n5\n9\n")
    convert(source, tmp_path / "verizon.trace", 100)
    assert list(load_trace(str(tmp_path / "verizon.trace")).times_ms) == [1, 5, 9]
    source.write_text("1\n5\n4\n")
    with pytest.raises(UserError, match=r"driving\.down:3: 4 comes after 5"):
        convert(source, tmp_path / "verizon.trace", 100)


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("time_s,mbps\n0,1\n1,fast\n", "x.trace", r"a\.csv:3: mbps is 'fast'; it must be a number from 0 to 100000"),
        ("time_s,mbps\n0,1\n1,-2\n", "x.trace", r"a\.csv:3: mbps is '-2'"),
        ("time_s,mbps\n0,1\n1,nan\n", "x.trace", r"a\.csv:3: mbps is 'nan'"),
        ("time_s,mbps\n0,1\n1\n", "x.trace", r"a\.csv:3: mbps is None"),
        ("time_s,mbps\n0,1\n0,2\n", "x.trace", r"a\.csv:3: time_s is 0, but times must rise"),
        ("time_s,mbps\n0,1\n90000,2\n", "x.trace", r"a\.csv:3: time_s is '90000'; it must be a number from 0 to 86400"),
        ("time,rate\n0,1\n", "x.trace", "the header is 'time,rate'; it must have time_s or time_ms, and mbps"),
        ("time_s,mbps\n0,1\n1,2\n", "x.delay", "it must have time_s or time_ms, and delay_ms"),
        ("time_ms,rtt_ms\n0,1\n1,2\n", "x.delay", "it must have time_s or time_ms, and delay_ms, of one way$"),
        ("time_s;mbps\n0;6,91\n1;5\n", "x.trace", "mbps; commas separate columns, and decimals have a point$"),
        (
            "time_ms,mbps\n1714560000000,1\n1714646400001,2\n",
            "x.trace",
            "time_ms is '1714646400001'; it must be a number from 0 to 1714646400000$",
        ),
        ("time_s,mbps\n1714560000,1\n1714559999,2\n", "x.trace", "time_s is 1714559999, but times must rise"),
        ("time_s,mbps\ninf,1\n1,2\n", "x.trace", "time_s is 'inf'; it must be a number from 0"),
        ("time_s,mbps\n0,1\n", "x.trace", "has 1 rows; it needs two"),
        ("", "x.trace", "the header is ''"),
        ("time_s,mbps\n0,0\n1,0\n", "x.trace", "the rates deliver 0 packets"),
        ("time_s,mbps\n0,100000\n10,100000\n", "x.trace", "packets; a trace has 1 to 50000000"),
        ("time_s,mbps\n0,1\n1,2\n", "x.txt", r"its name must end in one of \.trace"),
        ("time_s,mbps\n0,1\n1,2\n", "x.csv", "to write CSV, its name must end in"),
    ],
)
def test_what_cannot_be_converted_is_named(tmp_path: Path, text: str, output: str, message: str) -> None:
    source = tmp_path / "a.csv"
    source.write_text(text)
    with pytest.raises(UserError, match=message):
        convert(source, tmp_path / output, 100)
    assert not (tmp_path / output).exists()


def test_the_command_converts_and_shows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time_s,delay_ms\n0,10\n1,20\n")
    words = ("-m", "env.network.traces")
    output, _ = run_python(*words, "convert", str(tmp_path / "a.csv"), str(tmp_path / "a.delay"))
    assert output.endswith("a.delay: 2 s, mean one-way delay 15 ms\n")
    assert run_python(*words, "show", str(tmp_path / "a.delay"))[0] == "2 s; one-way delay 10 to 20 ms, mean 15.00 ms\n"
    _, errors = run_python(*words, "convert", str(tmp_path / "no.csv"), str(tmp_path / "a.trace"), status=1)
    assert "no.csv cannot be read as CSV" in errors


def test_a_link_begins_elsewhere(tmp_path: Path) -> None:
    source, output = tmp_path / "a.trace", tmp_path / "b.trace"
    source.write_text("100\n250\n250\n600\n1000\n")
    convert(source, output, 100, start_s=0.25)
    assert list(load_trace(str(output)).times_ms) == [350, 750, 850, 1000, 1000]
    for start_s in (-0.1, 1.0):
        with pytest.raises(UserError, match=f"start_s is {start_s:g}; it must lie between 0 and the trace's end, 1"):
            convert(source, output, 100, start_s)
    with pytest.raises(UserError, match="only link traces can begin elsewhere"):
        convert(source, tmp_path / "rates.csv", 100, 0.25)


def test_delays_with_many_digits_read_back(tmp_path: Path) -> None:
    source, output = tmp_path / "a.csv", tmp_path / "a.delay"
    source.write_text("time_ms,delay_ms\n0,20.4991670832341\n10,0.00000012\n20,9999.123456789\n")
    convert(source, output, 100)
    assert load_delay_trace(str(output)).delays_ms.tolist() == [20.499167, 0, 9999.123457]
    output.write_text("20.4991670832341\n")
    assert load_delay_trace(str(output)).delays_ms.tolist() == [20.4991670832341]


def test_files_of_windows_and_spreadsheets_are_read(tmp_path: Path) -> None:
    table, link, delay = tmp_path / "a.csv", tmp_path / "a.trace", tmp_path / "a.delay"
    table.write_bytes(b"\xef\xbb\xbftime_s,mbps\r\n0,12\r\n1,12\r\n")
    convert(table, link, 100)
    assert load_trace(str(link)).duration_ms == 2000
    link.write_bytes(b"1\r\n2\r\n")
    assert list(load_trace(str(link)).times_ms) == [1, 2]
    delay.write_bytes(b"10\r\n20.5\r\n")
    assert load_delay_trace(str(delay)).delays_ms.tolist() == [10, 20.5]
