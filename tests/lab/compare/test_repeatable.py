"""compare.py gives the same files for the same seeds, with any number of labs and in any order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compare.experiment.experiment import plan
from compare.experiment.labs import lab_kind
from compare.experiment.matrix import make_job
from compare.experiment.models import binaries, find_models, find_modules
from env.lab import VirtualLab
from env.network.path import Path as NetworkPath
from tests.support.commands import hashes, run_python

pytestmark = pytest.mark.timeout(600)
SCENARIOS, SCHEMES = ["stress", "delay_extreme", "bottleneck"], ["cubic", "bbr", "ndm"]


def compare(
    folder: Path, scenarios: list[str], schemes: list[str], *options: str, **environment: str
) -> dict[str, str]:
    """Run compare.py into a folder and return the hash of each file of its runs."""
    names = [f"scenario=[{','.join(scenarios)}]", f"schemes=[{','.join(schemes)}]"]
    run_python("compare.py", *names, "seeds=2", "duration_s=5", *options, f"output_dir={folder}", **environment)
    return hashes(folder)


def test_twice_into_two_folders_gives_the_same_bytes(tmp_path: Path) -> None:
    first = compare(tmp_path / "first", SCENARIOS, SCHEMES, "jobs=1")
    again = tmp_path / "a folder of another name"
    second = compare(again, SCENARIOS, SCHEMES, "jobs=4", TZ="Asia/Tokyo", PYTHONHASHSEED="77", OMP_NUM_THREADS="2")
    assert len([name for name in first if name.endswith("/sender.parquet")]) == 3 * 3 * 2
    assert first == second
    assert (tmp_path / "first" / "summary.csv").read_bytes() == (again / "summary.csv").read_bytes()
    # labs are kept from run to run: what they did before, and with which modules, is another story each time
    assert first == compare(tmp_path / "third", SCENARIOS[::-1], SCHEMES[::-1], "jobs=2")
    of_runs = [first[name] for name in first if name.startswith("runs/stress") and name.endswith("/sender.parquet")]
    assert len(set(of_runs)) == len(of_runs), "another seed or scheme gave the same time series"


def test_fresh_and_used_lab_give_the_same_run() -> None:
    names = ["stress", "compete/cubic_1v1", "nv/1s2c1fs", "access/lte", "loss/bursts"]
    experiment = plan(names, ["ndm", "ndm@untrained"], 1, 2.0, 50)
    kind = lab_kind("virtual", "", experiment)
    modules, models = find_modules(experiment.all_schemes(), kind), find_models(experiment.all_schemes())
    experiment = replace(experiment, binaries=binaries(modules, models, experiment.scenarios, kind))
    jobs = [make_job(run, experiment, modules, models) for run in experiment.runs()]
    alone = []
    for job in jobs:
        with VirtualLab(seed=0) as lab:
            alone.append(job(lab))
    with VirtualLab(seed=0) as lab:
        for job, expected in reversed(list(zip(jobs, alone, strict=True))):
            assert job(lab) == expected, (job.run.scenario.name, job.run.scheme.name)


def test_a_delay_trace_gives_the_same_run_in_a_used_lab(tmp_path: Path) -> None:
    file = tmp_path / "changing.delay"
    file.write_text("10\n12\n")
    path = NetworkPath(rate_mbps=2, delay_trace=str(file), loss_pct=1)
    duration_s = 22.0  # the changes need a second tc process

    def run(lab: VirtualLab) -> list[bytes]:
        flows = [{"scheme": "bbr", "start_s": 0, "duration_s": duration_s}]
        result = lab.run(path, flows, duration_s, sample_ms=50, seed=1)
        return [result.flows[0].sender.rows.tobytes(), result.queue.rows.tobytes()]

    with VirtualLab(seed=0) as lab:
        fresh = run(lab)
    with VirtualLab(seed=0) as lab:
        lab.run(NetworkPath(loss_pct=1), [{"scheme": "cubic", "start_s": 0, "duration_s": 1}], 1.0, seed=2)
        assert run(lab) == fresh
        assert run(lab) == fresh
