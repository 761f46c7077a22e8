"""Schemes of two lab kernels in one comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from compare.command.measurement import Measurement
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import plan
from env.lab import kernels
from env.lab.virtual import KERNEL, MODULES


@pytest.fixture
def _twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second kernel, `twin`, which is the lab kernel under another name, with modules of its own."""
    for link, target in (
        ("others/twin", KERNEL.parent),
        ("build/modules/lab", MODULES),
        ("build/modules/lab-twin", MODULES),
    ):
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to(target.resolve())
    monkeypatch.setattr(kernels, "OTHERS", tmp_path / "others")
    monkeypatch.setattr(kernels, "MODEL_BUILD", tmp_path / "build")


@pytest.mark.usefixtures("_twin")
def test_schemes_of_two_kernels_are_compared(tmp_path: Path) -> None:
    schemes = ["nv", "nv%twin", "cubic%twin"]
    config = CompareConfig(scenario=["compete/cubic_1v1"], schemes=schemes, seeds=1, duration_s=3, jobs=1)
    measurement = Measurement(config, plan(config.scenario, schemes, 1, 3, 50))
    with measurement.completed(tmp_path / "results", Console()) as completed:
        assert completed.progress.failed == 0
        store, runs = completed.store, completed.experiment.runs()
        found = {
            run.scheme.name: json.loads((store.folder / store.run_name(run) / "run.json").read_text()) for run in runs
        }
    hashes = completed.experiment.binaries
    assert hashes["module of nv"] == hashes["module of nv%twin of twin"]
    assert {"lab kernel", "lab kernel of twin"} <= set(hashes)
    kernel = {name: run["environment"].pop("lab_kernel", "") for name, run in found.items()}
    assert kernel == {"nv": "", "nv%twin": "twin", "cubic%twin": "twin"}
    # the twin is the same kernel: the bytes are those of a run without it
    assert [flow["received_bytes"] for flow in found["nv"]["flows"]] == [
        flow["received_bytes"] for flow in found["nv%twin"]["flows"]
    ]


@pytest.mark.usefixtures("_twin")
def test_kernel_of_the_whole_comparison(tmp_path: Path) -> None:
    config = CompareConfig(scenario=["bottleneck"], schemes=["reno"], seeds=1, duration_s=3, kernel="twin", jobs=1)
    measurement = Measurement(config, plan(config.scenario, config.schemes, 1, 3, 50))
    with measurement.completed(tmp_path / "results", Console()) as completed:
        assert completed.progress.failed == 0
