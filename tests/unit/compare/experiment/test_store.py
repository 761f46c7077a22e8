"""The store of a comparison: runs, damaged and failed ones, the lock of its folder, and memory."""

from __future__ import annotations

import errno
import json
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from compare.experiment import models
from compare.experiment.changes import read_changes
from compare.experiment.experiment import Experiment, plan
from compare.experiment.run_files import pack, unpack
from compare.experiment.store import DamagedRun, Store
from compare.metrics.cells import read_cells
from compare.statistics.summary import summary_csv
from env.errors import UserError
from env.lab import RunResult, Table
from env.network.traces import handed_over
from tests.support.results import recorded


def experiment() -> Experiment:
    return plan(["stress"], ["cubic", "ndm@runs/a b"], 2, 5.0, 50)


def same(one: RunResult | None, other: RunResult) -> bool:
    return one is not None and pack(one) == pack(other)


def test_saved_run_is_complete_and_readable(tmp_path: Path) -> None:
    store, first = Store(tmp_path), experiment().runs()[0]
    assert not store.is_done(first)
    assert store.load(first) is None
    store.save_error(first, "the lab kernel ended")
    assert store.load_error(first) == "the lab kernel ended"
    store.save(first, pack(recorded()))
    assert store.is_done(first)
    assert same(store.load(first), recorded())
    assert store.load_error(first) is None
    folder = tmp_path / "runs/stress/cubic"
    assert [path.name for path in folder.iterdir()] == ["seed-001"]
    samples = pq.read_table(folder / "seed-001" / "sender.parquet")
    assert samples.column_names[:4] == ["flow", "t_s", "cwnd", "srtt_us"]
    assert samples.num_rows == len(recorded().flows[0].sender)
    store.save(first, pack(recorded()))
    assert same(store.load(first), recorded())


def test_odd_scheme_names_stay_in_the_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    runs = plan(["stress"], ["ndm@../../x", "ndm@..-..-x"], 1, 5.0, 50).runs()
    names = [store.run_name(run) for run in runs]
    assert len(set(names)) == 2
    assert all((tmp_path / name).resolve().is_relative_to(tmp_path / "runs" / "stress") for name in names)


@pytest.mark.parametrize("name", ["run.json", "sender.parquet", "receiver.parquet"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "empty"])
def test_damaged_run_is_named_and_missing(tmp_path: Path, name: str, damage: str) -> None:
    store, matrix = Store(tmp_path), experiment()
    for run in matrix.runs():
        store.save(run, pack(recorded()))
    run = matrix.runs()[1]
    file = tmp_path / store.run_name(run) / name
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        changed = bytes([content[0] ^ 1]) + content[1:]
        file.write_bytes({"cut": content[:-20], "changed": changed, "empty": b""}[damage])
    assert not store.is_done(run)
    with pytest.raises(DamagedRun, match=f"seed-001: {name}"):
        store.load(run)
    cells = read_cells(matrix, store)
    assert [cell.missing for cell in cells] == [[], [1]]
    assert f"seed-001: {name}" in cells[1].damaged[1]
    store.save(run, pack(recorded()))
    assert store.is_done(run)


def test_older_run_with_a_guard_is_read() -> None:
    files = pack(recorded())
    files["run.json"] = json.dumps(json.loads(files["run.json"]) | {"guard": {"starving": 1}}).encode()
    assert unpack(files).as_dict() == recorded().as_dict()


def test_same_experiment_continues_another_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    with store.claim(experiment()):
        pass
    with store.claim(experiment()):
        pass
    before = (store.folder / "experiment.json").read_bytes()
    others = [
        (replace(experiment(), seeds=3), "seeds: stored 2, wanted 3"),
        (plan(["stress"], ["cubic"], 2, 5.0, 50), "schemes: "),
        (plan(["stress"], ["cubic", "ndm@runs/a b"], 2, 6.0, 50), "scenarios: stress not the same"),
        (replace(experiment(), binaries={"lab kernel": "1"}), "binaries: lab kernel not the same"),
    ]
    for other, message in others:
        with pytest.raises(UserError, match=message), store.claim(other):
            pass
    assert (store.folder / "experiment.json").read_bytes() == before
    assert store.experiment() == experiment()


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.claim(experiment()), pytest.raises(UserError, match="at work"), Store(tmp_path).claim(experiment()):
        pass


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match=r"thesis\.tex"), Store(tmp_path).claim(experiment()):
        pass
    with pytest.raises(UserError, match="not the folder of a comparison"):
        Store(tmp_path).experiment()


def test_no_fifo_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "experiment.json")
    with pytest.raises(UserError, match=r"experiment\.json is no regular file"):
        Store(tmp_path).experiment()


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.write("summary.csv", b"old")

    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        store.write("summary.csv", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["summary.csv"]
    assert (tmp_path / "summary.csv").read_bytes() == b"old"


def test_failed_and_missing_runs_are_counted_apart(tmp_path: Path) -> None:
    store, matrix = Store(tmp_path), experiment()
    for run in matrix.runs()[:2]:
        store.save(run, pack(recorded()))
    store.save_error(matrix.runs()[2], "crash")
    cubic, ndm = read_cells(matrix, store)
    assert (cubic.seeds, cubic.failed, cubic.missing) == ([1], {2: "crash"}, [])
    assert (ndm.seeds, ndm.failed, ndm.missing) == ([1], {}, [2])
    rows = summary_csv([cubic, ndm]).splitlines()
    assert rows[0] == "scenario,scheme,metric,unit,mean,lo,hi,n"
    # 11 of the flow, utilisation and 4 of queueing; this recorded run has no samples of a queue
    assert len(rows) == 1 + 2 * 16
    assert all(row.endswith(",1") for row in rows[1:])


def test_memory_is_independent_of_run_count(tmp_path: Path) -> None:
    """Twelve times the runs, each with 4 MB of samples, take no more memory to read."""
    result = recorded()
    sender = result.flows[0].sender
    rows = np.tile(sender.rows, (4_000_000 // sender.rows.nbytes, 1))
    result.flows[0].sender = Table(sender.columns, rows)
    store, peaks = Store(tmp_path), []
    for seeds in (2, 24):
        matrix = plan(["stress"], ["cubic"], seeds, 5.0, 50)
        for run in matrix.runs():
            if not store.is_done(run):
                store.save(run, pack(result))
        tracemalloc.start()
        cells = read_cells(matrix, store)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert cells[0].seeds == list(range(1, seeds + 1))
    assert peaks[0] > 4_000_000  # a run at a time is in memory
    assert peaks[1] < 1.2 * peaks[0]


def test_a_report_needs_no_trace_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed_over, "_texts", {})
    file = tmp_path / "mine.trace"
    file.write_text("1\n2\n4\n")
    changes = read_changes({"path": {"trace": str(file), "rate_mbps": "null"}})
    planned = plan("bottleneck", ["cubic"], 1, None, 50, changes=changes)
    traced = replace(planned, binaries={f"trace {file}": models.sha256(file)})
    store = Store(tmp_path / "results")
    with store.claim(traced):
        store.keep_traces(traced)
    file.unlink()
    with pytest.raises(UserError, match=r"mine\.trace' does not exist"):
        store.experiment().scenarios[0].network_path()
    store.restore_traces(store.experiment())
    assert store.experiment().scenarios[0].network_path().trace == str(file)
