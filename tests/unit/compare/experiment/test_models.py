"""A comparison knows when a file that its runs depend on has changed."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import pytest

from compare.experiment import models
from compare.experiment.labs import LabKind
from compare.experiment.models import binaries
from env.lab.virtual import ALWAYS_LOADED, VirtualLab
from env.network.scenario import Scenario, load_scenario
from env.network.traces.format import find_trace
from env.own_module import KernelTree


@pytest.fixture
def kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabKind:
    """Files in place of what `make module` builds: the hash is of bytes, whatever they are."""
    for name in ("linux", "flow", "lab_traffic.ko", "sch_linktrace.ko"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(models, "PROGRAM", tmp_path / "flow")
    tree = KernelTree(tmp_path, "6.12", "0" * 64)
    return LabKind(tmp_path / "linux", tmp_path, "module", ALWAYS_LOADED, tree, partial(VirtualLab, seed=0))


def test_a_scenario_without_a_trace_depends_on_none(kind: LabKind) -> None:
    assert sorted(binaries({}, {}, [load_scenario("stress"), load_scenario("nv/1s1c1fs")], kind)) == [
        "lab kernel",
        "traffic module",
        "traffic program",
    ]


def test_runs_depend_on_the_trace_and_its_link(kind: LabKind) -> None:
    sha256 = binaries({}, {}, [load_scenario("access/lte"), load_scenario("bottleneck")], kind)
    name = "held_out/lte-walking"
    assert sha256[f"trace {name}"] == hashlib.sha256(find_trace(name).read_bytes()).hexdigest()
    assert sha256["link of a trace"] == hashlib.sha256(b"sch_linktrace.ko").hexdigest()


def test_a_changed_trace_is_another_one(kind: LabKind, tmp_path: Path) -> None:
    file = tmp_path / "mine.trace"
    scenario = Scenario(name="mine", claim="none", duration_s=1, path={"trace": str(file)})
    file.write_text("1\n2\n")
    before = binaries({}, {}, [scenario], kind)
    file.write_text("1\n3\n")
    assert binaries({}, {}, [scenario], kind) != before
