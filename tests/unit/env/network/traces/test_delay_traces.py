"""Delay traces: the format, and what a path makes of it."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path as FilePath

import numpy as np
import pytest

from env.errors import UserError
from env.network.capacity import base_rtt_ms
from env.network.path import Path
from env.network.traces.delay import load_delay_trace, parse_delay_trace


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine: the delay trace is empty"),
        ("12\n\n13\n", "mine:2: '' is no delay"),
        ("12\n-1\n", "mine:2: '-1' is no delay"),
        ("12\nfast\n", "mine:2: 'fast' is no delay; it must be a number of milliseconds from 0 to 10000"),
        ("1e3\n", "mine:1: '1e3' is no delay"),
        ("10001\n", "mine:1: '10001' is no delay"),
        ("nan\n", "mine:1: 'nan' is no delay"),
    ],
)
def test_a_malformed_trace_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_delay_trace("mine", text)


def test_the_text_reads_back() -> None:
    trace = parse_delay_trace("mine", "12\n12.5\n0\n")
    assert trace.text() == "12\n12.5\n0\n"
    assert trace.mean_ms == pytest.approx(24.5 / 3)


def test_changes_repeat_with_the_trace() -> None:
    changes = parse_delay_trace("mine", "12\n12\n20\n").changes()
    assert list(itertools.islice(changes, 5)) == [(0, 12), (0.02, 20), (0.03, 12), (0.05, 20), (0.06, 12)]
    assert list(parse_delay_trace("mine", "12\n12\n").changes()) == [(0, 12)]


def test_the_rtt_follows_the_trace(tmp_path: FilePath) -> None:
    file = tmp_path / "mine.delay.gz"
    file.write_bytes(gzip.compress(b"10\n20\n30\n"))
    path = Path(delay_trace=str(file), client_extra_rtt_ms=(0, 7), rate_mbps=1000)
    assert (path.rtt_ms, path.reference_rtt_ms, path.first_delay_ms) == (40, 40, 10)
    assert Path(delay_trace=str(file), rtt_ms=40).rtt_ms == 40
    sending_ms = 1514 * 8 / 1e6
    rtt_ms = base_rtt_ms(path, np.array([0.0, 0.0099, 0.01, 0.029, 0.03]), client=2)
    assert rtt_ms == pytest.approx(np.array([20, 20, 40, 60, 20]) + 7 + sending_ms)
    assert Path.from_dict(path.as_dict()) == path


def test_a_changed_file_is_read_again(tmp_path: FilePath) -> None:
    file = tmp_path / "mine.delay"
    for text in ("1\n", "2\n"):
        file.write_text(text)
        assert load_delay_trace(str(file)).text() == text


def test_what_contradicts_the_trace_is_refused(tmp_path: FilePath) -> None:
    file = tmp_path / "mine.delay"
    file.write_text("10\n")
    with pytest.raises(UserError, match="rtt_ms is 30, but delay_trace"):
        Path(delay_trace=str(file), rtt_ms=30)
    with pytest.raises(UserError, match="a step changes rtt_ms or loss_pct"):
        Path.from_dict({"delay_trace": str(file), "steps": [{"at_s": 1, "loss_pct": 1}]})
    with pytest.raises(UserError, match=r"trace 'mine.txt' is unknown.*ends in \.delay or \.delay\.gz"):
        Path(delay_trace="mine.txt")
    with pytest.raises(UserError, match="delay_trace is for topology router"):
        Path(topology="loopback", delay_trace=str(file), tc=("tc qdisc add dev lo root netem",))
    with pytest.raises(UserError, match="delay_trace is 5; it must be the name"):
        Path(delay_trace=5)  # type: ignore[arg-type]
