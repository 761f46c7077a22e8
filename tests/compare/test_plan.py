"""What is refused before anything runs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from compare import models
from compare.config import CompareConfig, check_command_line
from compare.errors import CompareError
from compare.experiment import DEFAULT_SCHEMES, from_identity, plan
from compare.schemes import SCHEMES, find_schemes
from configs.help import option_lines
from env.network import scenario as scenario_module

ROOT = Path(__file__).parents[2]
GOOD: dict[str, Any] = {"scenario": ["stress"], "schemes": ["cubic"], "seeds": 3, "duration_s": None, "sample_ms": 50}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenario": ["stres"]}, "did you mean stress"),
        ({"scenario": []}, "scenario is empty"),
        ({"scenario": ["stress", "stress"]}, "given twice"),
        ({"schemes": ["cubik"]}, "did you mean cubic"),
        ({"schemes": ["cubic", "cubic"]}, "given twice"),
        ({"schemes": []}, "schemes is empty"),
        ({"schemes": ["cubic@runs/x"]}, "only ndm takes a model"),
        ({"schemes": ["ndm@"]}, "only ndm takes a model"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": -1}, "seeds is -1"),
        ({"duration_s": 0.5}, "duration_s is 0.5"),
        ({"duration_s": float("nan")}, "duration_s is nan"),
        ({"sample_ms": 0}, "sample_ms is 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CompareError, match=message):
        plan(**(GOOD | change))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("{rtt_ms: -5}", "rtt_ms is -5"),
        ("{qdisc: pfifo_fats}", "qdisc 'pfifo_fats' is unknown"),
        ("{topology: loopback, tc: [tc qdisc add dev lo root netem delay -5ms]}", "delay -5ms"),
    ],
)
def test_a_scenario_that_cannot_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text(f"name: bad\nclaim: none\nduration_s: 5\npath: {path}\n")
    monkeypatch.setattr(scenario_module, "FOLDER", tmp_path)
    with pytest.raises(CompareError, match=message):
        plan(**(GOOD | {"scenario": ["bad"]}))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["scenarios=stress"], "did you mean scenario"),
        (["stress"], "is no option"),
        (["seeds=many"], "seeds"),
        (["jobs=1.5"], "jobs"),
    ],
)
def test_a_wrong_option_is_named(overrides: list[str], message: str) -> None:
    with pytest.raises(CompareError, match=message):
        check_command_line(overrides)


def test_good_options_pass() -> None:
    check_command_line(["scenario=[stress,fiber]", "schemes=[ndm,ndm@runs/first,cubic]", "seeds=10", "output_dir=x/y"])


def test_an_experiment_reads_back_from_its_identity() -> None:
    experiment = plan(["stress", "bottleneck"], ["ndm", "ndm@runs/first", "bbr"], 3, 2.0, 20)
    assert from_identity(experiment.identity()) == experiment
    assert len(experiment.runs()) == 2 * 3 * 3
    assert experiment.default_name() != plan(["stress"], ["bbr"], 3, 2.0, 20).default_name()


def test_scenarios_name_the_schemes_when_nobody_does() -> None:
    def schemes(*scenarios: str) -> list[str]:
        return [scheme.name for scheme in plan(list(scenarios), None, 1, None, 50).schemes]

    papers = ["reno", "cubic", "nv", "cdg", "ndm"]
    assert schemes("nv") == papers
    assert schemes("stress") == [*DEFAULT_SCHEMES]
    assert schemes("nv/1s1c1fs", "stress") == [*papers, "bbr", "vegas"]


def test_every_scheme_looks_different() -> None:
    schemes = [*SCHEMES.values(), *find_schemes([f"ndm@runs/{i}" for i in range(4)])]
    assert len({scheme.colour for scheme in schemes}) == len(schemes)
    assert len({scheme.marker for scheme in schemes}) == len(schemes)


def test_a_missing_lab_kernel_names_its_make_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tmp_path / "linux"
    monkeypatch.setattr(models, "KERNEL", kernel)
    with pytest.raises(CompareError, match="make lab-kernel"):
        models.check_lab()
    kernel.write_bytes(b"x")
    kernel.chmod(0o644)
    with pytest.raises(CompareError, match=r"cannot be executed.*chmod"):
        models.check_lab()


def test_a_module_older_than_its_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tmp_path / "ndm_weights.h"
    header.write_text(f'#define NDM_MODEL_SHA256 "{"ab" * 32}"\n')
    monkeypatch.setattr(models, "HEADER", header)
    monkeypatch.setattr(models, "MODULES", tmp_path)
    with pytest.raises(CompareError, match="make module"):
        models.find_modules(find_schemes(["ndm"]))
    (tmp_path / "tcp_ndm.ko").write_bytes(b"\0" + b"cd" * 32 + b"\0")
    with pytest.raises(CompareError, match="was not built from the model"):
        models.find_modules(find_schemes(["ndm"]))
    (tmp_path / "tcp_ndm.ko").write_bytes(b"\0" + b"ab" * 32 + b"\0")
    assert models.find_modules(find_schemes(["ndm"])) == {"ndm": tmp_path / "tcp_ndm.ko"}


def test_a_run_that_does_not_exist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NDM_CACHE", str(tmp_path))
    with pytest.raises(CompareError, match="ndm@runs/no-such-run"):
        models.find_modules(find_schemes(["ndm@runs/no-such-run"]))


def test_help_explains_every_option_and_names_schemes_and_scenarios() -> None:
    command = [sys.executable, "compare.py", "--help"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(line in text for line in option_lines(CompareConfig))
    for option in fields(CompareConfig):
        assert len(next(line for line in text.splitlines() if line.startswith(f"  {option.name}="))) > 50
    assert all(name in text for name in (*SCHEMES, "delay_extreme"))
