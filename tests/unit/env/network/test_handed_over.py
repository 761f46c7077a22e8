"""Trace files for machines that do not have them."""

from __future__ import annotations

import pickle
from pathlib import Path as FilePath

import pytest

from env.network.path import Path
from env.network.traces import handed_over
from env.network.traces.format import load_trace


@pytest.fixture(autouse=True)
def nothing_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed_over, "_texts", {})


def test_a_pickled_path_brings_its_trace(tmp_path: FilePath) -> None:
    file = tmp_path / "mine.trace"
    file.write_text("1\n2\n4\n")
    path = Path(trace=str(file), rtt_ms=20)
    pickled = pickle.dumps(path)
    file.unlink()  # another machine lacks it
    assert pickle.loads(pickled) == path
    assert list(load_trace(str(file)).times_ms) == [1, 2, 4]
    assert Path(trace=str(file), rtt_ms=20) == path


def test_traces_of_the_project_stay_where_they_are() -> None:
    path = Path(trace="held_out/wifi")
    assert path.trace_files == ()
    assert len(pickle.dumps(path)) < 2000
    assert pickle.loads(pickle.dumps(path)) == path


def test_a_text_survives_packing() -> None:
    text = "".join(f"{ms}\n" for ms in range(10_000))
    data = handed_over.packed(text)
    assert len(data) < len(text) / 2
    assert handed_over.unpacked(data) == text
