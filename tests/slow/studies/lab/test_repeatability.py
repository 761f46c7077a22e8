"""Runs in another order have the same bytes, and the study tells when they have not."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.lab.repeatability import differing, hashes, main


def test_orders_are_compared_by_the_bytes_of_their_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [str(tmp_path), "--scenarios", "change/rate_up", "bottleneck", "--schemes", "ndm", "cubic"]
    command += ["--duration-s", "2"]
    assert main(command) == 0
    same = "| as given | 2 | 4 | 16 | 0 |\n| backwards | 2 | 4 | 16 | 0 |\n| the second half first | 1 | 4 | 16 | 0 |\n"
    assert capsys.readouterr().out.endswith(same)

    first, second = tmp_path / "1", tmp_path / "2"
    samples = next((second / "runs").rglob("sender.parquet"))
    content = bytearray(samples.read_bytes())
    content[len(content) // 2] ^= 1
    samples.write_bytes(content)
    assert differing(hashes(first), hashes(second)) == [samples.relative_to(second / "runs")]
