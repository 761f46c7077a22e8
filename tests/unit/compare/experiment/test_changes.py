"""Changes of scenarios on the command line, and sweeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from compare.experiment.changes import NETWORKS, Change, SweepPoint, quoted, read_changes, unquoted
from compare.experiment.config import FOLDER, NAME, check_command_line, read_config
from compare.experiment.experiment import Experiment, from_identity, plan
from env.errors import UserError
from tests.support.commands import run_python


def planned(*texts: str, scenario: str = "bottleneck", rival: str | None = None) -> Experiment:
    """Return the plan with changes as the command line has them."""
    with initialize_config_dir(str(FOLDER), version_base="1.3"):
        config = read_config(compose(NAME, [quoted(text) for text in texts]))
    changes = read_changes({network: getattr(config, network) for network in NETWORKS})
    return plan(scenario, ["cubic"], 2, None, 50, rival, changes)


def test_a_change_is_in_name_claim_and_path() -> None:
    experiment = planned("path.rate_mbps=50", "path.buffer_bdp=0.5")
    (scenario,) = experiment.scenarios
    assert scenario.name == "bottleneck+rate_mbps=50+buffer_bdp=0.5"
    assert scenario.claim.endswith("(with rate_mbps 50, buffer_bdp 0.5)")
    path = scenario.network_path()
    assert (path.rate_mbps, path.buffer_bdp, path.rtt_ms) == (50, 0.5, 40)
    assert not experiment.sweep
    assert "sweep" not in experiment.identity()


def test_several_values_make_every_combination() -> None:
    experiment = planned("path.rate_mbps=1,10,100", "path.rtt_ms=20", "path.buffer_bdp=0.5,2")
    assert len(experiment.scenarios) == 6
    assert experiment.sweep[1] == SweepPoint(
        "bottleneck+rate_mbps=1+rtt_ms=20+buffer_bdp=2",
        "bottleneck+rtt_ms=20",
        {"path.rate_mbps": 1, "path.buffer_bdp": 2},
    )
    assert from_identity(experiment.identity()) == experiment
    assert [scenario.network_path().rate_mbps for scenario in experiment.scenarios] == [1, 1, 10, 10, 100, 100]


def test_a_rival_is_in_the_names_of_a_sweep() -> None:
    experiment = planned("path.rate_mbps=10,20", scenario="compete/cubic_1v1", rival="bbr")
    assert [point.scenario for point in experiment.sweep] == [scenario.name for scenario in experiment.scenarios]
    assert experiment.sweep[0].scenario == "compete/cubic_1v1+rate_mbps=10+bbr"


def test_many_changes_fit_a_folders_name() -> None:
    fields = ("rate_mbps", "rtt_ms", "buffer_bdp", "loss_pct", "jitter_ms", "duplicate_pct", "ack_rate_mbps", "mark_ms")
    names = [
        planned(*(f"path.{field}={value}" for field in fields[:-1]), "path.loss_burst_packets=2").scenarios[0].name
        for value in ("1.2345678901", "1.2345678902")
    ]
    assert len({*names}) == 2
    assert all(len(name) < 150 for name in names)


def test_values_have_hydras_grammar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b.trace").write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    path = planned("path.trace=a b.trace", "path.rate_mbps=null").scenarios[0].network_path()
    assert path.trace == str(tmp_path / "a b.trace")
    steps = planned("path.steps=[{at_s: 5, rate_mbps: 2}]").scenarios[0].network_path().steps
    assert [(step.at_s, step.rate_mbps) for step in steps] == [(5, 2)]
    assert read_changes({"path": {"rate_mbps": "range(1,4)"}}) == [Change("path.rate_mbps", (1, 2, 3))]
    assert planned("rack.clients=2,3", scenario="nv/1s2c1fs").scenarios[1].network.clients == 3


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["path.rate_mbps=fast"], "rate_mbps is 'fast'; it must be a number"),
        (["path.rate_mbps=-5,3"], "rate_mbps is -5; it must lie between"),
        (["path.rate_mbps=1,1"], "has the value 1 twice"),
        (["path.rate_mbps=1,,2"], "path.rate_mbps=1,,2 cannot be read"),
        (["path.rate_mbps=interval(1,2)"], "has no single values"),
        (["path.rate_mbps=range(1,2000)"], "the sweep has 1999 scenarios; at most 1000"),
        (["path.qdisc=fq_codl"], "qdisc 'fq_codl' is unknown"),
        (["rack.clients=2"], "rack.clients changes a rack, but scenario bottleneck is a path: use path.FIELD"),
        (["path.client_extra_rtt_ms=5"], "client_extra_rtt_ms is 5; it must be a list"),
        (["path.steps=[{at_s: 99, rtt_ms: 3}]"], "the step at 99 s does not lie within the run"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        planned(*texts)


def test_field_is_suggested_by_its_meaning() -> None:
    with pytest.raises(UserError, match="changes no field of a path: did you mean buffer_bdp"):
        planned("path.queue_packets=100")


def test_path_field_cannot_change_a_chain() -> None:
    message = "path.rate_mbps changes a path, but scenario chain/two_queues is a chain: use chain.FIELD=VALUE"
    with pytest.raises(UserError, match=message):
        planned("path.rate_mbps=5", scenario="chain/two_queues")


def test_a_change_is_for_all_links_or_one() -> None:
    texts = ["chain.link2.rate_mbps=5,8", "chain.rate_mbps=50", "chain.link1.delay_ms=null", "chain.qdisc=fq_codel"]
    experiment = planned(*texts, scenario="chain/two_queues")
    first, second = experiment.scenarios
    assert first.name == "chain/two_queues+rate_mbps=50+qdisc=fq_codel+link1.delay_ms=default+link2.rate_mbps=5"
    assert experiment.sweep[0].values == {"chain.link2.rate_mbps": 5}
    assert [(link.rate_mbps, link.delay_ms, link.qdisc) for link in first.network.links] == [
        (50, 10, "fq_codel"),
        (5, 10, "fq_codel"),
    ]
    assert "delay_ms" not in first.chain["links"][0]
    assert second.network.links[1].rate_mbps == 8
    assert from_identity(experiment.identity()) == experiment


@pytest.mark.parametrize(
    ("text", "scenario", "message"),
    [
        ("chain.link3.rate_mbps=5", "chain/two_queues", "changes link 3, but the links of .* are link1 to link2"),
        ("chain.rate_mbps=-5", "chain/two_queues", "link 1: rate_mbps is -5; it must lie between"),
        ("chain.link2.qdisc=fq_codl", "chain/two_queues", "link 2: qdisc 'fq_codl' is unknown"),
        ("chain.rate_mbps=5", "bottleneck", "chain.rate_mbps changes a chain, but scenario bottleneck is a path: use"),
    ],
)
def test_a_chains_change_that_cannot_be_made_is_refused(text: str, scenario: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        planned(text, scenario=scenario)


def test_a_loopback_path_takes_no_rate() -> None:
    with pytest.raises(UserError, match=r"path\.rate_mbps has no effect in scenario stress"):
        planned("path.rate_mbps=5", scenario="stress")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["path.rat_mbps=5"], "'path.rat_mbps=5' changes no field of a path: did you mean rate_mbps"),
        (["path=5"], "changes no field of a path"),
        (["path.rate_mbps=1", "path.rate_mbps=2"], "path.rate_mbps is given twice"),
        (["targets=all", "path.rate_mbps=2"], "targets have their own scenarios: leave out path.rate_mbps"),
        (["chain.rat_mbps=5"], "'chain.rat_mbps=5' changes no field of a chain: did you mean rate_mbps"),
        (["chain.link2.rtt_ms=5"], "changes no field of a chain.* chain.link2.FIELD=VALUE for one"),
        (["chain.link0.rate_mbps=5"], "changes no field of a chain"),
        (["chain.links=3"], "changes no field of a chain"),
        (["chain.link2.rate_mbps=1", "chain.link2.rate_mbps=2"], "chain.link2.rate_mbps is given twice"),
        (["targets=all", "chain.rate_mbps=2"], "targets have their own scenarios: leave out chain.rate_mbps"),
        (["mine.yaml"], "did you mean scenario=mine.yaml"),
    ],
)
def test_a_wrong_argument_is_named(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_command_line([quoted(argument) for argument in arguments])


@pytest.mark.parametrize(
    "argument", ["path.rate_mbps=1,10", "path.trace=it's", "scenario=stress", "rack.clients=2", "chain.link2.qdisc=red"]
)
def test_arguments_are_restored_for_the_record(argument: str) -> None:
    assert unquoted(quoted(argument)) == argument


def test_the_command_refuses_before_the_first_run(tmp_path: Path) -> None:
    _, errors = run_python(
        "compare.py", "scenario=bottleneck", "path.rate_mbps=1,none", f"output_dir={tmp_path / 'x'}", status=1
    )
    assert errors.strip() == (
        "compare.py: scenario bottleneck+rate_mbps=none: rate_mbps is 'none'; it must be a number from 0.01 to 100000"
    )
    assert not (tmp_path / "x").exists()
