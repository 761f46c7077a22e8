"""compare.py as it is called, on the real lab."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from compare.experiment.models import ROOT
from env.pool.slot import MAX_ATTEMPTS
from export.selection import selected, sha256_of

BASE = ["scenario=bottleneck", "duration_s=2", "schemes=[reno,cubic]", "seeds=2"]


def call(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "compare.py", *options], cwd=ROOT, capture_output=True, text=True, timeout=200
    )


def test_the_same_seeds_give_the_same_summary_and_the_links_are_filled(tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = call(*BASE, f"output_dir={tmp_path / name}")
        assert done.returncode == 0, done.stdout + done.stderr
    summaries = [(tmp_path / name / "summary.csv").read_text() for name in ("a", "b")]
    assert summaries[0] == summaries[1]
    for line in summaries[0].splitlines()[1:]:
        scenario, _, metric, _, mean, _, _, n = line.split(",")
        assert (scenario, n) == ("bottleneck", "2")
        if metric == "goodput":
            assert 14 < float(mean) < 20
    for file in ("environment.json", "report.html", "runs/bottleneck/reno/seed-002/sender.parquet"):
        assert (tmp_path / "a" / file).stat().st_size > 500
    again = call(f"report={tmp_path / 'a'}")
    assert again.returncode == 0
    assert (tmp_path / "a" / "summary.csv").read_text() == summaries[0]


def test_the_model_in_the_record_is_the_one_in_the_loaded_module(tmp_path: Path) -> None:
    done = call("scenario=bottleneck", "duration_s=2", "schemes=[ndm]", "seeds=1", f"output_dir={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    model = json.loads((tmp_path / "environment.json").read_text())["models"]["ndm"]["ndm"]
    assert model["sha256"] == sha256_of(selected()[0])
    assert model["sha256"] in (tmp_path / "report.html").read_text()


def test_an_experiment_of_the_tcp_nv_paper(tmp_path: Path) -> None:
    """NV keeps both queues short at full rate: at the client in 1s1c1fr, in the switch in 1s2c1fs."""
    scenarios = "scenario=[nv/1s1c1fr,nv/1s2c1fs]"
    done = call(scenarios, "schemes=[reno,nv]", "seeds=1", "duration_s=1", f"output_dir={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in (tmp_path / "summary.csv").read_text().splitlines()[1:]:
        scenario, scheme, metric, _, mean, *_ = line.split(",")
        found[scenario, scheme, metric] = float(mean)
    for scenario in ("nv/1s1c1fr", "nv/1s2c1fs"):
        assert 8000 < found[scenario, "nv", "rate"] < 9500
        assert 9000 < found[scenario, "reno", "rate"] < 9500
        assert 2 * found[scenario, "nv", "rtt"] < found[scenario, "reno", "rtt"] < 2000
        # in slow start two flows may overrun the switch's buffer once
        assert found[scenario, "nv", "retrans_pct"] < 0.5
        rate_mbps, latency_us = found[scenario, "nv", "rate"], found[scenario, "nv", "mean_latency"]
        flows, size_bytes = (1, 1 << 20) if scenario == "nv/1s1c1fr" else (2, 1 << 18)
        # back to back: in its latency each flow moves one request, but for the reply's way
        assert flows * size_bytes * 8 / latency_us == pytest.approx(rate_mbps, rel=0.05)
    assert found["nv/1s2c1fs", "nv", "rate_min"] <= found["nv/1s2c1fs", "nv", "rate"] / 2
    assert 0.5 < found["nv/1s2c1fs", "nv", "jain"] <= 1
    samples = pq.read_table(tmp_path / "runs/nv/1s2c1fs/nv/seed-001/sender.parquet").to_pydict()
    assert set(samples["flow"]) == {0, 1}
    assert 20 < min(value for value in samples["kept_min_rtt_us"] if value) < 100
    assert "table 2 of the TCP-NV paper" in (tmp_path / "report.html").read_text()
    assert "published" in done.stdout


def test_an_interrupted_comparison_keeps_its_runs_and_goes_on(tmp_path: Path) -> None:
    options = ["scenario=bottleneck", "schemes=[reno]", "seeds=6", "duration_s=10", "jobs=1", f"output_dir={tmp_path}"]
    process = subprocess.Popen(
        [sys.executable, "compare.py", *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    runs = tmp_path / "runs" / "bottleneck" / "reno"
    deadline = time.monotonic() + 100
    while len(list(runs.glob("seed-*/run.json"))) < 2:
        assert time.monotonic() < deadline, "no run was finished"
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    children = _children(process.pid)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "of 6 runs are kept" in error
    assert "Traceback" not in error
    kept = {file.parent.name: file.stat().st_mtime_ns for file in runs.glob("seed-*/run.json")}
    assert 2 <= len(kept) < 6
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]
    done = call(*options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(runs.glob("seed-*/run.json"))) == 6
    assert all((runs / name / "run.json").stat().st_mtime_ns == at for name, at in kept.items())


def test_a_run_that_fails_after_its_retries_is_counted(tmp_path: Path) -> None:
    options = ["scenario=bottleneck", "schemes=[reno]", "seeds=3", "duration_s=10", "jobs=1", f"output_dir={tmp_path}"]
    process = subprocess.Popen(
        [sys.executable, "compare.py", *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    runs = tmp_path / "runs" / "bottleneck" / "reno"
    deadline = time.monotonic() + 100
    killed: set[int] = set()
    while len(killed) < MAX_ATTEMPTS:
        assert time.monotonic() < deadline, "no lab was started"
        assert process.poll() is None, process.communicate()
        for lab in set(_labs(process.pid)) - killed:
            os.killpg(lab, signal.SIGKILL)  # what a machine short of memory does to a lab
            killed.add(lab)
        time.sleep(0.02)
    output, error = process.communicate(timeout=100)
    assert process.returncode == 1, error
    assert "failed: bottleneck, reno, seed 1: the lab kernel ended" in output
    assert [file.name for file in sorted(runs.glob("seed*"))] == [
        "seed-001.error.txt",
        "seed-002",
        "seed-003",
    ]
    assert "1 failed</strong>" in (tmp_path / "report.html").read_text()
    again = call(*options)
    assert again.returncode == 0, again.stdout + again.stderr
    assert not list(runs.glob("*.error.txt"))
    assert len(list(runs.glob("seed-*/run.json"))) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["scenario=bottelneck"], "did you mean bottleneck"),
        (["schemes=[cubik]"], "did you mean cubic"),
        (["seeds=0"], "seeds is 0"),
        (["report=no/such/folder"], "not the folder of a comparison"),
        (["scenarioo=stress"], "did you mean scenario"),
        (["lab=real"], "lab is 'real'; it is one of virtual, vm"),
        (["lab=vm", "jobs=2"], "lab=vm runs in real time, one lab at a time"),
        (["lab=vm", "schemes=[oracle]"], "its search takes hundreds of runs"),
        (["lab=vm", "schemes=[ndm@untrained]"], "has only the models that are built into the module"),
        (["lab=vm", "scenario=nv/1s1c1fs"], "10 Gbit/s are beyond lab=vm"),
        (["lab=vm", "vm_kernel=5.10"], "make vm-kernel"),
    ],
)
def test_bad_options_end_with_one_paragraph(options: list[str], message: str) -> None:
    done = call(*options)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def _labs(pid: int) -> list[int]:
    """The children that lead a process group, as a lab does; not git, nor a lab between fork and setsid."""
    leaders = []
    for child in _children(pid):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(child) == child:
                leaders.append(child)
    return leaders
