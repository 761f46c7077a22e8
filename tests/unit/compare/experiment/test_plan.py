"""What is refused before anything runs."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compare.experiment import labs, models
from compare.experiment.config import CompareConfig, check_command_line
from compare.experiment.experiment import from_identity, plan
from compare.experiment.labs import LabKind, lab_kind
from env.errors import UserError
from env.lab import LabMissing, VirtualLab, kernels
from env.lab.kernels import LabKernel
from env.network import scenario as scenario_module
from env.network.schemes import DEFAULT_SCHEMES, SCHEMES, find_schemes
from env.options import option_lines
from env.own_module import KernelTree
from export.selection import select
from tests.support.commands import run_python

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
        ({"schemes": ["orcale"]}, "did you mean oracle"),
        ({"schemes": ["oracle@3"]}, "only ndm takes a model"),
        ({"schemes": ["oracle%bbr3"]}, "the oracle has the comparison's kernel"),
        ({"schemes": ["cubic"], "scenario": ["compete/cubic_1v1"], "rival": "bbr%bbr3"}, "leave out the kernel"),
        ({"schemes": ["windw@16"]}, "did you mean window@16"),
        *(
            ({"schemes": [f"window{rest}"]}, "whole number of packets from 1 to 1000000, such as window@16")
            for rest in ("", "@", "@0", "@x", "@-1", "@016", "@1.5", "@1000001", f"@{'9' * 5000}")
        ),
        ({"schemes": ["ndm@untrained-4294967296"]}, "the seed is 4294967296"),
        ({"rival": "cubic"}, "scenario stress has no rival"),
        ({"scenario": ["compete/cubic_1v1"], "rival": "cubik"}, "rival: scheme 'cubik' is unknown: did you mean cubic"),
        ({"scenario": ["compete/cubic_1v1"], "rival": "oracle"}, "use a window such as window@16"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": -1}, "seeds is -1"),
        ({"duration_s": 0.5}, "duration_s is 0.5"),
        ({"duration_s": float("nan")}, "duration_s is nan"),
        ({"sample_ms": 0}, "sample_ms is 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
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
    with pytest.raises(UserError, match=message):
        plan(**(GOOD | {"scenario": ["bad"]}))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["scenarios=stress"], "did you mean scenario"),
        (["stress"], "is no option"),
        (["seeds=many"], "seeds"),
        (["jobs=1.5"], "jobs"),
        (["schemes=[mine@a.c+beta=7+fast:1,bbr]"], r"NAME:VALUE; write \+beta:7 for \+beta=7$"),
        (["rival=mine@a.c+on=yes"], r"write \+on:yes for \+on=yes"),
        (["schemes=[mine@~/a.c]"], r"schemes=\[mine@~/a.c\] cannot be read: .* needs quotes"),
        (["output_dir=~/a"], r"output_dir=~/a cannot be read: '~' needs quotes \(\$HOME does not\), and quotes need"),
        (
            ["schemes=[mine@/a/\u7b97/b.c]"],
            r"cannot be read: '\u7b97' needs quotes, and quotes need those of the shell",
        ),
        *(
            ([f"schemes=[mine@a{letter}c.c]"], rf"cannot be read: '\{letter}' needs quotes")
            for letter in ("=", "(", ")", "{", "]")
        ),
        (["scenario=my (1).yaml"], r"cannot be read: '\)' needs quotes"),
        (["output_dir=a(b"], r"cannot be read: '\(' needs quotes"),
        (["scenario=a=b"], r"cannot be read: '=' needs quotes, and"),
        (["schemes=[a,b"], r"cannot be read: '\[' needs quotes or its other bracket"),
        (["output_dir=a(b)"], r"cannot be read: '\(' needs quotes or its other bracket"),
        (["--scenario", "stress"], "'--scenario' is no option: options have no dashes, so write scenario=stress"),
        (["--scenario=stress"], "'--scenario=stress' is no option: .* write scenario=stress"),
        (["-m", "--seeds", "3"], "'--seeds' is no option: .* write seeds=3"),
    ],
)
def test_a_wrong_option_is_named(overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_command_line(overrides)


def test_good_options_pass() -> None:
    check_command_line(["scenario=[stress,fiber]", "schemes=[ndm,ndm@runs/first,cubic]", "seeds=10", "output_dir=x/y"])
    check_command_line(['schemes=["mine@~/a b.c",bbr]'])


def test_only_a_chain_scenario_stores_a_chain() -> None:
    # the key is newer than the stored experiments, which go on only if their identity is the same
    experiment = plan(["bottleneck", "chain/two_queues"], ["cubic"], 1, None, 50)
    stored = experiment.identity()["scenarios"]
    assert "chain" not in stored["bottleneck"]
    assert stored["chain/two_queues"]["chain"]["links"][1] == {"rate_mbps": 20, "delay_ms": 10}
    assert from_identity(experiment.identity()) == experiment


def test_an_experiment_reads_back_from_its_identity() -> None:
    experiment = plan(["stress", "bottleneck"], ["ndm", "ndm@runs/first", "bbr"], 3, 2.0, 20)
    assert from_identity(experiment.identity()) == experiment
    assert len(experiment.runs()) == 2 * 3 * 3
    assert experiment.default_name() != plan(["stress"], ["bbr"], 3, 2.0, 20).default_name()


def test_schemes_of_a_scenarios_flows_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario_module, "FOLDER", tmp_path)
    for scheme, message in (("cubik", "scenario bad: .*did you mean cubic"), ("oracle", "can only be under test")):
        flows = f"[{{scheme: under_test}}, {{scheme: {scheme}}}]"
        (tmp_path / "bad.yaml").write_text(f"name: bad\nclaim: none\nduration_s: 5\npath: {{}}\nflows: {flows}\n")
        with pytest.raises(UserError, match=message):
            plan(**(GOOD | {"scenario": ["bad"]}))


def test_rival_replaces_all_flows_not_under_test() -> None:
    compete: dict[str, Any] = GOOD | {"scenario": ["compete/cubic_1v4"], "schemes": ["ndm", "window@8"]}
    plain, other = plan(**compete), plan(**compete, rival="ndm@runs/other")
    assert [flow["scheme"] for flow in other.scenarios[0].flows_with("ndm")] == ["ndm", *["ndm@runs/other"] * 4]
    assert [scheme.name for scheme in other.all_schemes()] == ["ndm", "window@8", "ndm@runs/other"]
    assert [scheme.name for scheme in plain.all_schemes()] == ["ndm", "window@8", "cubic"]
    assert other.scenarios[0].name == "compete/cubic_1v4+ndm@runs-other"
    assert "with ndm@runs/other in place of cubic" in other.scenarios[0].claim
    assert other.default_name() != plain.default_name()
    assert from_identity(other.identity()) == other
    algorithms = {name: scheme.algorithm for name, scheme in other.schemes_of(other.runs()[0]).items()}
    assert algorithms == {"ndm": "ndm", "ndm@runs/other": find_schemes(["ndm@runs/other"])[0].algorithm}


def test_the_oracle_has_a_window_for_each_scenario() -> None:
    experiment = plan(**(GOOD | {"scenario": ["stress", "bottleneck"], "schemes": ["oracle", "cubic"]}))
    stress, bottleneck = (run for run in experiment.runs()[:4] if run.scheme.is_oracle)
    with pytest.raises(UserError, match="scenario stress: the oracle's window has not been found"):
        experiment.schemes_of(stress)
    searched = replace(experiment, windows={"stress": 8, "bottleneck": 67})
    assert [searched.schemes_of(run)["oracle"].algorithm for run in (stress, bottleneck)] == ["cwnd_8", "cwnd_67"]
    assert searched.identity() == experiment.identity() != plan(**(GOOD | {"schemes": ["cubic"]})).identity()
    assert "oracle" in experiment.identity()
    assert from_identity(experiment.identity()) == experiment


def test_kernel_names_of_schemes_are_unique_and_fit() -> None:
    names = ["ndm", "ndm@runs/a", "ndm@runs/b", "ndm@untrained", "ndm@untrained-2", "window@1", "window@1000000"]
    schemes = find_schemes(names)
    assert len({scheme.algorithm for scheme in schemes}) == len(names)
    assert all(re.fullmatch("[a-z0-9_]{1,15}", scheme.algorithm) for scheme in schemes), "TCP_CA_NAME_MAX"
    assert find_schemes(["ndm@runs/b"])[0].algorithm == schemes[2].algorithm, "whatever is compared beside it"
    assert [scheme.label for scheme in schemes[1:6]] == [
        "NDM a",
        "NDM b",
        "NDM untrained",
        "NDM untrained 2",
        "Window 1",
    ]


def test_scenarios_name_the_schemes_when_nobody_does() -> None:
    def schemes(*scenarios: str) -> list[str]:
        return [scheme.name for scheme in plan(list(scenarios), None, 1, None, 50).schemes]

    papers = ["reno", "cubic", "nv", "cdg", "ndm"]
    assert schemes("nv") == papers
    assert schemes("stress") == [*DEFAULT_SCHEMES]
    assert schemes("nv/1s1c1fs", "stress") == [*papers, "bbr", "vegas"]


def test_a_missing_lab_kernel_names_its_make_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = LabKernel("lab", tmp_path, tmp_path, "lab-kernel", "module")
    monkeypatch.setattr(labs, "lab_kernel", lambda _: kernel)
    with pytest.raises(UserError, match="make lab-kernel"):
        lab_kind("virtual", "", plan(**GOOD))
    kernel.image.write_bytes(b"x")
    kernel.image.chmod(0o644)
    with pytest.raises(UserError, match=r"cannot be executed.*chmod"):
        lab_kind("virtual", "", plan(**GOOD))


def test_an_unknown_kernel_is_refused_with_the_names_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "OTHERS", tmp_path)
    (tmp_path / "bbr3").mkdir()
    with pytest.raises(LabMissing, match=r"'bbr4' is unknown: did you mean bbr3\? The kernels are lab, bbr3; `make"):
        lab_kind("virtual", "", plan(**GOOD), "bbr4")
    experiment = plan(**GOOD | {"schemes": ["cubic", "cubic%bbr3"]})
    assert experiment.kernels() == ["", "bbr3"]
    assert [scheme.label for scheme in experiment.schemes] == ["Cubic", "Cubic on bbr3"]
    assert [scheme.name for scheme in experiment.all_schemes("bbr3")] == ["cubic%bbr3"]
    with pytest.raises(UserError, match="kernels by name are of lab=virtual"):
        lab_kind("vm", "6.12", experiment)


def test_a_module_older_than_its_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.h").write_text("\n")
    (tmp_path / "models" / "mine.json").write_text(json.dumps({"policy_sha256": "ab" * 32}))
    select("mine", tmp_path)
    monkeypatch.setattr(models, "EXPORTED", tmp_path)
    tree = KernelTree(tmp_path, "6.12", "0" * 64)
    kind = LabKind(tmp_path / "linux", tmp_path, "module", (), tree, partial(VirtualLab, seed=0))
    with pytest.raises(UserError, match="make module"):
        models.find_modules(find_schemes(["ndm"]), kind)
    (tmp_path / "tcp_ndm.ko").write_bytes(b"\0" + bytes.fromhex("cd" * 32) + b"\0")
    with pytest.raises(UserError, match="is older than the model mine"):
        models.find_modules(find_schemes(["ndm"]), kind)
    (tmp_path / "tcp_ndm.ko").write_bytes(b"\0" + bytes.fromhex("ab" * 32) + b"\0")
    assert models.find_modules(find_schemes(["ndm"]), kind) == {"ndm": tmp_path / "tcp_ndm.ko"}


def test_a_run_that_does_not_exist_is_named() -> None:
    with pytest.raises(UserError, match="ndm@runs/no-such-run"):
        models.find_models(find_schemes(["ndm@runs/no-such-run"]))
    with pytest.raises(UserError, match=r"did you mean ndm@untrained\?"):
        models.find_models(find_schemes(["ndm@untrianed"]))


def test_help_explains_options_schemes_and_scenarios() -> None:
    text, _ = run_python("compare.py", "--help")
    assert all(line in text for line in option_lines(CompareConfig))
    for option in fields(CompareConfig):
        assert len(next(line for line in text.splitlines() if line.startswith(f"  {option.name}="))) > 50
    assert all(name in text for name in (*SCHEMES, "delay_extreme"))


def test_a_scenario_builds_nothing_without_trust(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "Kbuild").write_text(f"obj-m := tcp_x.o\n$(shell touch {tmp_path}/executed)\n")
    (tmp_path / "theirs" / "tcp_x.c").touch()
    own = f"theirs@{tmp_path}/theirs"
    head = "name: a\nclaim: none\nduration_s: 2\npath: {}\n"
    (tmp_path / "flow.yaml").write_text(f"{head}flows: [{{scheme: under_test}}, {{scheme: {own}}}]\n")
    (tmp_path / "list.yaml").write_text(f"{head}schemes: [cubic, {own}]\n")
    for name, options in (("flow", ["schemes=cubic"]), ("list", [])):
        words = [f"scenario={tmp_path}/{name}.yaml", "seeds=1", f"output_dir={tmp_path}/out", *options]
        errors = run_python("compare.py", *words, status=1)[1]
        assert errors.startswith(f"compare.py: a file names the congestion control {own}, "), errors
        assert not (tmp_path / "executed").exists()
