"""compare.py gives the same files for the same seeds: one lab at a time or several, in whatever order."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compare.experiment.experiment import plan
from compare.experiment.matrix import make_job
from compare.experiment.models import binaries, find_modules
from env.checkout import ROOT
from env.lab import VirtualLab
from tests.support.compared import hashes

pytestmark = pytest.mark.timeout(600)
SCENARIOS, SCHEMES = ["stress", "delay_extreme", "bottleneck"], ["cubic", "bbr", "ndm"]


def compare(
    folder: Path, scenarios: list[str], schemes: list[str], *options: str, **environment: str
) -> dict[str, str]:
    """Run compare.py into a folder and return the hash of each file of its runs."""
    command = [f"scenario=[{','.join(scenarios)}]", f"schemes=[{','.join(schemes)}]", "seeds=2", "duration_s=5"]
    done = subprocess.run(
        [sys.executable, "compare.py", *command, *options, f"output_dir={folder}"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return hashes(folder)


def test_twice_into_two_folders_gives_the_same_bytes(tmp_path: Path) -> None:
    first = compare(tmp_path / "first", SCENARIOS, SCHEMES, "jobs=1")
    again = tmp_path / "a folder of another name"
    second = compare(again, SCENARIOS, SCHEMES, "jobs=4", TZ="Asia/Tokyo", PYTHONHASHSEED="77", OMP_NUM_THREADS="1")
    assert len([name for name in first if name.endswith("/sender.parquet")]) == 3 * 3 * 2
    assert first == second
    assert (tmp_path / "first" / "summary.csv").read_bytes() == (again / "summary.csv").read_bytes()
    # labs are kept from run to run: what they did before, and with which modules, is another story each time
    assert first == compare(tmp_path / "third", SCENARIOS[::-1], SCHEMES[::-1], "jobs=2")
    of_runs = [first[name] for name in first if name.startswith("runs/stress") and name.endswith("/sender.parquet")]
    assert len(set(of_runs)) == len(of_runs), "another seed or scheme gave the same time series"


def test_a_run_in_a_lab_of_its_own_is_the_same_as_after_others() -> None:
    names = ["stress", "compete/cubic_1v1", "nv/1s2c1fs", "access/lte", "loss/bursts"]
    experiment = plan(names, ["ndm", "bbr", "window@16"], 1, 2.0, 50)
    modules = find_modules(experiment.all_schemes())
    experiment = replace(experiment, binaries=binaries(modules, experiment.scenarios))
    jobs = [make_job(run, experiment, modules) for run in experiment.runs()]
    alone = []
    for job in jobs:
        with VirtualLab(seed=0) as lab:
            alone.append(job(lab))
    with VirtualLab(seed=0) as lab:
        for _ in range(2):
            for job, expected in reversed(list(zip(jobs, alone, strict=True))):
                assert job(lab) == expected, (job.run.scenario.name, job.run.scheme.name)
