"""Congestion controls that a user brings: built, compared, and refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from compare.command.measurement import Measurement
from compare.experiment import run_job
from compare.experiment.config import CompareConfig
from compare.experiment.experiment import plan
from compare.experiment.store import Store
from env.checkout import ROOT
from env.errors import UserError
from env.lab.kernels import lab_kernel
from env.lab.virtual import KERNEL, MODULES
from tests.support.commands import compare

SOURCES = ROOT / "tests" / "support" / "own"
AIMD, FAULTY = SOURCES / "tcp_aimd.c", SOURCES / "tcp_faulty.c"


def measurement(*schemes: str, rival: str | None = None) -> Measurement:
    scenario = "bottleneck" if rival is None else "compete/cubic_1v1"
    config = CompareConfig(scenario=[scenario], schemes=list(schemes), seeds=1, duration_s=5, rival=rival, jobs=1)
    return Measurement(config, plan(config.scenario, config.schemes, 1, 5, 50, rival))


def test_source_is_compared_with_its_parameters(tmp_path: Path) -> None:
    source = shutil.copy(AIMD, tmp_path)
    schemes = f"schemes=[mine@{source},large@{source}+begin:40+beta:900,reno]"
    options = ["scenario=bottleneck", schemes, "seeds=2", "duration_s=5"]
    printed, _ = compare(*options, "jobs=1", f"output_dir={tmp_path / 'first'}")
    assert " mine " in printed
    assert " large begin=40 beta=900 " in printed
    store = Store(tmp_path / "first")
    runs = store.experiment().runs()
    loaded = {run.scheme.label: store.load(run) for run in runs if run.seed == 1}
    assert {label: run.flows[0].algorithm for label, run in loaded.items() if run} == {
        "mine": "aimd",
        "large begin=40 beta=900": "aimd",
        "Reno": "reno",
    }
    described = [json.loads((store.folder / store.run_name(run) / "run.json").read_text()) for run in runs]
    assert described[1]["environment"]["parameters"]["tcp_aimd"] == {"begin": "40", "beta": "900"}
    windows = [run.flows[0].sender["cwnd"][1] for run in loaded.values() if run]
    assert windows[0] < 20 < windows[1] < 60, "the first windows are 10 and 40 packets"
    # the same bytes where each scheme has a lab of its own
    compare(*options, "jobs=2", f"output_dir={tmp_path / 'second'}")
    again = Store(tmp_path / "second")
    for run in runs:
        assert (again.folder / again.run_name(run) / "run.json").read_bytes() == (
            store.folder / store.run_name(run) / "run.json"
        ).read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["first", "second", "tcp_aimd.c"]


def test_own_scheme_is_a_rival_and_one_of_several_in_a_module(tmp_path: Path) -> None:
    with measurement("second@" + str(FAULTY), "ndm", rival=f"mine@{AIMD}").completed(tmp_path, Console()) as completed:
        assert completed.progress.failed == 0
        found = [completed.store.load(run) for run in completed.experiment.runs()]
    assert [[flow.algorithm for flow in run.flows] for run in found if run] == [["second", "aimd"], ["ndm", "aimd"]]


def test_module_that_breaks_the_kernel_costs_its_own_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_job, "MIN_TIMEOUT_S", 10)
    monkeypatch.setattr(run_job, "WALL_PER_VIRTUAL", 1)
    schemes = [f"faulty@{FAULTY}+fault:oops", f"faulty@{FAULTY}+fault:hang", "reno"]
    with measurement(*schemes).completed(tmp_path, Console()) as completed:
        assert completed.progress.done == 3
        assert completed.progress.failed == 2
        oops, hang = completed.progress.errors
    assert "the lab kernel ended" in oops
    assert "Kernel panic" in oops
    assert "Tainted" in oops
    assert "umid" not in oops, "what user-mode Linux says at each boot is left out"
    assert "no answer" in hang


def test_built_module_is_taken(tmp_path: Path) -> None:
    with measurement(f"copy@{MODULES / 'tcp_nv.ko'}").completed(tmp_path, Console()) as completed:
        assert completed.progress.failed == 0


@pytest.mark.parametrize(
    ("scheme", "problem"),
    [
        (f"mine@{AIMD}+bta:5", "tcp_aimd has no parameter 'bta': did you mean beta. The parameters are beta, begin."),
        (
            f"mine@{AIMD}+beta:much",
            "the kernel does not load tcp_aimd.ko: .*Invalid parameters. .* beta \\(uint\\), begin \\(uint\\)",
        ),
        (f"mine@{AIMD}+beta:much", "the kernel says: tcp_aimd: `much' invalid for parameter `beta'"),
        (f"mine@{AIMD}+beta:500+beta:600", "parameter 'beta' of tcp_aimd is given twice"),
        (f"mine@{FAULTY}", "registers several: name the scheme after one of them: faulty, second"),
        (f"mine@{MODULES / 'sch_linktrace.ko'}", "the kernel has a module or a congestion control of this name"),
        (f"mine@{KERNEL}", "is no source: give a C file"),
        ("mine@no/such.c", "no/such.c does not exist"),
    ],
)
def test_unusable_scheme_is_refused_before_the_first_run(scheme: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        measurement(scheme)


@pytest.mark.parametrize(
    ("was", "now", "problem"),
    [
        (
            '"aimd"',
            '"my_congestion_control"',
            r"tcp_aimd.ko: the name of its congestion control, 'my_congestion_co'..., has more than 15 characters",
        ),
        (
            "\t.undo_cwnd = tcp_reno_undo_cwnd,\n",
            "",
            r"does not load tcp_aimd.ko: .*Invalid parameters; the kernel says: TCP: aimd does not implement required",
        ),
    ],
)
def test_faulty_operations_are_explained(tmp_path: Path, was: str, now: str, problem: str) -> None:
    text = AIMD.read_text()
    assert text.count(was) == 1
    (tmp_path / "tcp_aimd.c").write_text(text.replace(was, now))
    with pytest.raises(UserError, match=problem) as raised:
        measurement(f"mine@{tmp_path / 'tcp_aimd.c'}")
    assert "\n" not in str(raised.value)


def test_missing_symbol_of_built_module_is_named(tmp_path: Path) -> None:
    content = (MODULES / "tcp_nv.ko").read_bytes()
    module = tmp_path / "tcp_nv.ko"
    module.write_bytes(content.replace(b"tcp_register_congestion_control", b"tcp_register_congestion_mystery"))
    with pytest.raises(UserError, match=r"the kernel says: tcp_nv: Unknown symbol tcp_register_congestion_mystery"):
        measurement(f"mine@{module}")


def test_source_that_does_not_build_shows_the_compilers_lines(tmp_path: Path) -> None:
    source = tmp_path / "tcp_old.c"
    source.write_text(FAULTY.read_text().replace("CODE >= KERNEL", "CODE < KERNEL"))
    with pytest.raises(UserError) as raised:
        measurement(f"old@{source}")
    message = str(raised.value)
    assert f"{source} does not build for Linux {lab_kernel().release}:" in message
    assert f"{source}:" in message
    assert "error:" in message
    assert "cong_control = faulty_cong_control" in message
    assert "since Linux 6.10, cong_control takes four arguments" in message
    assert "make[" not in message


def test_module_for_another_kernel_is_refused(tmp_path: Path) -> None:
    content = (MODULES / "tcp_nv.ko").read_bytes()
    release = lab_kernel().release.encode()
    other = tmp_path / "tcp_nv.ko"
    other.write_bytes(content.replace(b"vermagic=" + release, b"vermagic=5" + release[1:]))
    with pytest.raises(UserError, match=r"is built for 5\..*give its source in place of it, or build it with `make"):
        measurement(f"mine@{other}")


def test_settings_of_one_module_cannot_compete() -> None:
    with pytest.raises(UserError, match=r"are both the congestion control aimd, .* they cannot compete"):
        measurement(f"mine@{AIMD}+beta:900", rival=f"other@{AIMD}")


def test_labels_must_differ() -> None:
    with pytest.raises(UserError, match="two are called mine; give them different names before the @"):
        measurement(f"mine@{AIMD}", f"mine@{SOURCES}")


def test_folder_with_a_makefile_is_built(tmp_path: Path) -> None:
    shutil.copy(AIMD, tmp_path / "core.c")
    (tmp_path / "Makefile").write_text("obj-m := tcp_pair.o\ntcp_pair-y := core.o\nall:\n\tfalse\n")
    measured = measurement(f"mine@{tmp_path}")
    assert measured.experiment.algorithms == {f"mine@{tmp_path}": "aimd"}
    (tmp_path / "Makefile").write_text("obj-m := tcp_a.o tcp_b.o\n")
    (tmp_path / "core.c").rename(tmp_path / "tcp_a.c")
    shutil.copy(FAULTY, tmp_path / "tcp_b.c")
    assert measurement(f"a@{tmp_path}").experiment.algorithms == {f"a@{tmp_path}": "aimd"}
    with pytest.raises(UserError, match="builds several modules: name the scheme after one of them: a, b"):
        measurement(f"mine@{tmp_path}")
