"""The recordings that ship, with source and licence."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from env.network.path import Path as NetworkPath
from env.network.traces import recorded
from env.profile.held_out import is_held_out
from tests.support.commands import run_python


def test_every_recording_is_that_of_its_source() -> None:
    assert recorded.check() == []
    for facts in recorded.recordings().values():
        assert facts["source"].startswith("https://")
        assert len(facts["commit"]) == 40
        assert facts["license"] in (recorded.RECORDINGS / facts["license_file"]).read_text()


def test_changed_and_unknown_files_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "recorded"
    shutil.copytree(recorded.RECORDINGS, folder)
    monkeypatch.setattr(recorded, "RECORDINGS", folder)
    (folder / "starlink.delay.gz").write_bytes(gzip.compress(b"12\n"))
    (folder / "other.trace").write_text("1\n")
    (folder / "LICENSE-LeoCC").unlink()
    assert recorded.check() == [
        "recorded/starlink: LICENSE-LeoCC is missing, the text of its licence",
        "recorded/starlink.delay.gz is not the file of its source: its SHA-256 differs",
        "recorded/other.trace has no source in sources.json",
    ]


def test_no_training_sees_a_recording() -> None:
    assert is_held_out(NetworkPath(trace="recorded/starlink", delay_trace="recorded/starlink"))


def test_the_command_lists_recordings() -> None:
    output, _ = run_python("-m", "env.network.traces", "list")
    assert "recorded/starlink       a Starlink terminal" in output
    assert "recorded/starlink       delay trace" in output
    output, _ = run_python("-m", "env.network.traces", "show", "train/wifi", "recorded/starlink")
    assert [line.partition(":")[0] for line in output.splitlines()] == ["train/wifi", "recorded/starlink"]
