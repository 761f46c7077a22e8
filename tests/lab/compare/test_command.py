"""The command compare.py, on the real lab."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from env.pool.slot import MAX_ATTEMPTS
from export.selection import manifest_of, selected
from tests.support.commands import assert_gone, compare, descendants, ended, start, wait_until

BASE = ["scenario=bottleneck", "duration_s=2", "schemes=[reno,cubic]", "seeds=2"]
ONE_SCHEME = ["scenario=bottleneck", "schemes=[reno]", "duration_s=10", "jobs=1"]


def test_same_seeds_give_the_same_summary(tmp_path: Path) -> None:
    for name in ("a", "b"):
        compare(*BASE, f"output_dir={tmp_path / name}")
    summaries = [(tmp_path / name / "summary.csv").read_text() for name in ("a", "b")]
    assert summaries[0] == summaries[1]
    for line in summaries[0].splitlines()[1:]:
        scenario, _, metric, _, mean, _, _, n = line.split(",")
        assert (scenario, n) == ("bottleneck", "2")
        if metric == "goodput":
            assert 14 < float(mean) < 20
    for file in ("environment.json", "report.html", "runs/bottleneck/reno/seed-002/sender.parquet"):
        assert (tmp_path / "a" / file).stat().st_size > 500
    compare(f"report={tmp_path / 'a'}")
    assert (tmp_path / "a" / "summary.csv").read_text() == summaries[0]


def test_a_file_of_the_user_is_swept_with_a_trace_of_tmp(tmp_path: Path) -> None:
    (tmp_path / "mine.trace").write_text("1\n2\n3\n")
    (tmp_path / "mine.delay").write_text("5\n10\n")
    scenario, results = tmp_path / "mine.yaml", tmp_path / "results"
    path = "{trace: mine.trace, delay_trace: mine.delay}"
    scenario.write_text(f"name: mine\nclaim: none\nduration_s: 2\npath: {path}\n")
    options = [f"scenario={scenario}", "path.buffer_bdp=1,4", "schemes=[reno]", "seeds=1", f"output_dir={results}"]
    compare(*options)
    summary = (results / "summary.csv").read_text()
    for point in (1, 4):
        (goodput,) = (
            line for line in summary.splitlines() if line.startswith(f"mine+buffer_bdp={point},reno,goodput,")
        )
        assert 8 < float(goodput.split(",")[4]) < 11.6
    assert "path.buffer_bdp=1,4" in json.loads((results / "environment.json").read_text())["command"]
    for file in (scenario, tmp_path / "mine.trace", tmp_path / "mine.delay"):
        file.unlink()
    compare(f"report={results}")
    assert (results / "summary.csv").read_text() == summary
    assert "over buffer_bdp" in (results / "report.html").read_text()


def test_record_names_the_model_of_the_loaded_module(tmp_path: Path) -> None:
    compare("scenario=bottleneck", "duration_s=2", "schemes=[ndm]", "seeds=1", f"output_dir={tmp_path}")
    model = json.loads((tmp_path / "environment.json").read_text())["models"]["ndm"]["ndm"]
    assert model["sha256"] == manifest_of(selected())["policy_sha256"]
    assert model["sha256"] in (tmp_path / "report.html").read_text()


def test_an_experiment_of_the_tcp_nv_paper(tmp_path: Path) -> None:
    """NV keeps both queues short at full rate: at the client in 1s1c1fr, in the switch in 1s2c1fs."""
    scenarios = "scenario=[nv/1s1c1fr,nv/1s2c1fs]"
    output, _ = compare(scenarios, "schemes=[reno,nv]", "seeds=1", "duration_s=1", f"output_dir={tmp_path}")
    means = {}
    for line in (tmp_path / "summary.csv").read_text().splitlines()[1:]:
        scenario, scheme, metric, _, mean, *_ = line.split(",")
        means[scenario, scheme, metric] = float(mean)
    for scenario in ("nv/1s1c1fr", "nv/1s2c1fs"):
        assert 8000 < means[scenario, "nv", "rate"] < 9500
        assert 9000 < means[scenario, "reno", "rate"] < 9500
        assert 2 * means[scenario, "nv", "rtt"] < means[scenario, "reno", "rtt"] < 2000
        # in slow start two flows may overrun the switch's buffer once
        assert means[scenario, "nv", "retrans_pct"] < 0.5
        rate_mbps, latency_us = means[scenario, "nv", "rate"], means[scenario, "nv", "mean_latency"]
        flows, size_bytes = (1, 1 << 20) if scenario == "nv/1s1c1fr" else (2, 1 << 18)
        # a flow moves one request in its latency, except for the reply's time on the path
        assert flows * size_bytes * 8 / latency_us == pytest.approx(rate_mbps, rel=0.05)
    assert means["nv/1s2c1fs", "nv", "rate_min"] <= means["nv/1s2c1fs", "nv", "rate"] / 2
    assert 0.5 < means["nv/1s2c1fs", "nv", "jain"] <= 1
    samples = pq.read_table(tmp_path / "runs/nv/1s2c1fs/nv/seed-001/sender.parquet").to_pydict()
    assert set(samples["flow"]) == {0, 1}
    assert 20 < min(value for value in samples["cc_min_rtt_us"] if value) < 100
    assert "table 2 of the TCP-NV paper" in (tmp_path / "report.html").read_text()
    assert "published" in output


def started(options: list[str], ready: Callable[[subprocess.Popen[str]], bool]) -> subprocess.Popen[str]:
    """Start a comparison and wait until it is ready."""
    process = start("compare.py", *options)
    wait_until(process, lambda: ready(process), "the comparison did not get ready", 100)
    return process


def test_interrupted_comparison_keeps_its_runs_and_continues(tmp_path: Path) -> None:
    options, runs = [*ONE_SCHEME, "seeds=6", f"output_dir={tmp_path}"], tmp_path / "runs" / "bottleneck" / "reno"
    process = started(options, lambda _: len(list(runs.glob("seed-*/run.json"))) >= 2)
    processes = descendants(process)
    process.send_signal(signal.SIGINT)
    _, errors = ended(process, status=130)
    assert "of 6 runs are kept" in errors
    before = {file.parent.name: file.stat().st_mtime_ns for file in runs.glob("seed-*/run.json")}
    assert 2 <= len(before) < 6
    assert_gone(processes)
    compare(*options)
    assert len(list(runs.glob("seed-*/run.json"))) == 6
    assert all((runs / name / "run.json").stat().st_mtime_ns == at for name, at in before.items())


def test_run_that_fails_after_its_retries_is_counted(tmp_path: Path) -> None:
    options, runs = [*ONE_SCHEME, "seeds=3", f"output_dir={tmp_path}"], tmp_path / "runs" / "bottleneck" / "reno"
    killed: set[int] = set()

    def kill_labs(process: subprocess.Popen[str]) -> bool:
        for pid in set(descendants(process)) - killed:
            with contextlib.suppress(ProcessLookupError):
                # a lab leads a process group; git does not, nor does a lab between fork and setsid
                if len(killed) < MAX_ATTEMPTS and os.getpgid(pid) == pid:
                    os.killpg(pid, signal.SIGKILL)  # as a machine short of memory does to a lab
                    killed.add(pid)
        return len(killed) == MAX_ATTEMPTS

    output, _ = ended(started(options, kill_labs), status=1)
    assert "failed: bottleneck, reno, seed 1: the lab kernel ended" in output
    assert [file.name for file in sorted(runs.glob("seed*"))] == ["seed-001.error.txt", "seed-002", "seed-003"]
    assert "1 failed</strong>" in (tmp_path / "report.html").read_text()
    compare(*options)
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
        (["lab=vm", "scenario=nv/1s1c1fs"], "10 Gbit/s are too fast for lab=vm"),
        (["lab=vm", "scenario=chain/two_queues"], "lab=vm has no chains; use lab=virtual"),
        (["lab=vm", "vm_kernel=5.10"], "make vm-kernel"),
    ],
)
def test_bad_options_end_with_one_paragraph(options: list[str], message: str) -> None:
    _, errors = compare(*options, status=1)
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
