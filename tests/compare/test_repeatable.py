"""compare.py gives the same files for the same seeds, with one lab at a time and with several."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ("scenario=[stress,bottleneck]", "schemes=[cubic,bbr,ndm]", "seeds=2", "duration_s=5")


def compare(folder: Path, *options: str, **environment: str) -> dict[str, str]:
    """Run compare.py into a folder and return the hash of each of its files of results."""
    done = subprocess.run(
        [sys.executable, "compare.py", *OPTIONS, *options, f"output_dir={folder}"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    files = [folder / "summary.csv", *sorted((folder / "runs").rglob("seed-*"))]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_twice_into_two_folders_gives_the_same_bytes(tmp_path: Path) -> None:
    first = compare(tmp_path / "first", "jobs=1")
    second = compare(
        tmp_path / "a folder of another name", "jobs=4", TZ="Asia/Tokyo", PYTHONHASHSEED="77", OMP_NUM_THREADS="1"
    )
    assert len([name for name in first if name.endswith(".csv")]) == 1 + 2 * 3 * 2
    assert first == second
    of_runs = [digest for name, digest in first.items() if name.startswith("runs/stress") and name.endswith(".csv")]
    assert len(set(of_runs)) == len(of_runs), "another seed or scheme gave the same time series"
