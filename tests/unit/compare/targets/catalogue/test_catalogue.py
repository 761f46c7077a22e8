"""The eleven targets are those that were set, and each is decided by the figures that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from compare.experiment.config import check_command_line
from compare.metrics.cells import Cell
from compare.metrics.metric import BITS_PER_MBIT
from compare.statistics.verdict import Verdict
from compare.targets.catalogue import FILE, TARGETS, find_targets
from compare.targets.evidence import Evidence
from compare.targets.figures import FIGURES, competing_share, per_run, utilisation_after_loss
from compare.targets.requirement import InEachScenario
from compare.targets.target import Target
from env.checkout import DOCS
from env.errors import UserError
from env.lab import FlowResult, RunResult
from env.network.scenario import load_scenario
from env.network.schemes import SCHEMES
from tests.support.results import made_cells

SINGLE = {name: target for name, target in TARGETS.items() if name not in ("winning", "stress") and target.draw is None}
CUBIC: dict[str, dict[str, Any]] = {"cubic": {"queueing_p95": 40, "p99_latency": 100, "utilisation": 99}}


def met(target: str, values: Mapping[str, Mapping[str, float]], requirement: str) -> Verdict:
    """Whether ndm meets a requirement when every scenario gives these values: scheme to metric to value."""
    cells: list[Cell] = []
    for scenario in TARGETS[target].make():
        seeds = {scheme: {name: [value] * 3 for name, value in metrics.items()} for scheme, metrics in values.items()}
        cells += made_cells(scenario, seeds)
    (wanted,) = (one for one in TARGETS[target].requirements if one.name == requirement)
    return Verdict.of_all(one.verdict for one in wanted.judge(Evidence(cells), "ndm"))


def test_all_stands_for_the_eleven() -> None:
    assert [target.name for target in find_targets("all")] == [
        "published",
        "stress",
        "buffers",
        "loss",
        "fairness",
        "changes",
        "short_flows",
        "harm",
        "queues",
        "internet",
        "winning",
    ]
    assert [target.name for target in find_targets(["loss", "published"])] == ["published", "loss"]
    assert [target.name for target in find_targets(["development", "all"])][-1] == "development"


@pytest.mark.parametrize(
    ("names", "message"), [(["lost"], "did you mean loss"), ([], "targets is empty"), (["none"], "is unknown")]
)
def test_other_targets_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        find_targets(names)


@pytest.mark.parametrize("other", ["scenario=stress", "rival=bbr"])
def test_a_target_says_its_scenarios_itself(other: str) -> None:
    with pytest.raises(UserError, match="targets have their own scenarios"):
        check_command_line(["targets=all", other])
    check_command_line(["targets=all"])


@pytest.mark.parametrize("target", SINGLE.values(), ids=SINGLE)
def test_every_scenario_exists_and_has_a_requirement(target: Target) -> None:
    measured = {scenario.name for scenario in target.make()}
    judged = [one.scenarios for one in target.requirements if isinstance(one, InEachScenario)]
    assert measured == {name for names in judged for name in names}
    assert len(judged) == len(target.requirements)
    assert set(target.references) <= set(SCHEMES)
    assert len({one.name for one in target.requirements}) == len(target.requirements)


def test_the_file_has_known_keys_and_figures() -> None:
    asked = [one for target in yaml.safe_load(FILE.read_text()).values() for one in target["requirements"].values()]
    keys = "text unit scenarios figure at_least at_most below between or best more less highest_rate in_most label"
    assert {key for one in asked for key in one} == {*keys.split(), "counts", "least_pct"}
    documented = (DOCS / "reference" / "comparison-metrics.md").read_text()
    metrics = {one["figure"].replace("share_cubic", "share_SCHEME") for one in asked if "figure" in one} - {*FIGURES}
    assert [name for name in metrics if f"| `{name}` |" not in documented] == []


def test_the_buffers_span_what_was_asked_for() -> None:
    paths = [scenario.network_path() for scenario in TARGETS["buffers"].make()]
    spans = {
        name: {getattr(path, name) for path in paths} for name in ("rate_mbps", "rtt_ms", "buffer_bdp", "loss_pct")
    }
    assert (min(spans["rate_mbps"]), max(spans["rate_mbps"])) == (1, 200)
    assert (min(spans["rtt_ms"]), max(spans["rtt_ms"])) == (10, 300)
    assert (min(spans["buffer_bdp"]), max(spans["buffer_bdp"])) == (0.5, 8)
    assert spans["loss_pct"] == {0}
    corners = {(p.rate_mbps, p.rtt_ms, p.buffer_bdp) for p in paths if p.rate_mbps in (1, 200)}
    assert len(corners) == 8
    assert len(paths) == 12


@pytest.mark.parametrize(
    ("target", "requirement", "ndm", "others", "expected"),
    [
        ("published", "goodput", {"goodput": 10}, {"bbr": {"goodput": 10}}, True),
        ("published", "goodput", {"goodput": 10}, {"bbr": {"goodput": 10.1}}, False),
        ("published", "goodput", {"goodput": 10}, {"oracle": {"goodput": 20}, "reno": {"goodput": 1}}, True),
        ("published", "over_bbr", {"goodput": 12.5}, {"bbr": {"goodput": 10}}, True),
        ("published", "over_bbr", {"goodput": 12.4}, {"bbr": {"goodput": 10}}, False),
        ("published", "window", {"goodput": 19}, {"oracle": {"goodput": 20}}, True),
        ("published", "window", {"goodput": 18.9}, {"oracle": {"goodput": 20}}, False),
        ("published", "window", {"goodput": 19}, {"bbr": {"goodput": 20}}, None),
        ("published", "retransmits", {"retransmits_per_mb": 1}, {"bbr": {"retransmits_per_mb": 1.1}}, True),
        ("published", "retransmits", {"retransmits_per_mb": 1}, {"bbr": {"retransmits_per_mb": 1}}, False),
        ("buffers", "utilisation", {"utilisation": 95}, CUBIC, True),
        ("buffers", "utilisation", {"utilisation": 94.9}, CUBIC, False),
        ("buffers", "queueing", {"queueing_p95": 10}, CUBIC, True),
        ("buffers", "queueing", {"queueing_p95": 10.1}, CUBIC, False),
        ("loss", "used", {"utilisation": 90}, {}, True),
        ("loss", "used", {"utilisation": 88}, {}, False),
        ("fairness", "rtt", {"jain": 0.8}, {}, True),
        ("fairness", "rtt", {"jain": 0.79}, {}, False),
        ("fairness", "beside_cubic", {"share_cubic": 0.5}, {}, True),
        ("fairness", "beside_cubic", {"share_cubic": 0.49}, {}, False),
        ("fairness", "beside_cubic", {"share_cubic": 1.51}, {}, False),
        ("fairness", "own_losses", {"retransmits_per_mb": 1}, {}, True),
        ("fairness", "own_losses", {"retransmits_per_mb": 1.1}, {}, False),
        ("queues", "utilisation", {"utilisation": 90}, {}, True),
        ("queues", "utilisation", {"utilisation": 89}, {}, False),
        ("queues", "queueing", {"queueing_p95": 10}, {"bbr": {"queueing_p95": 10}}, True),
        ("queues", "queueing", {"queueing_p95": 10.1}, {"bbr": {"queueing_p95": 10}}, False),
        ("changes", "power", {"power": 2}, {"bbr": {"power": 2}}, True),
        ("changes", "power", {"power": 2}, {"bbr": {"power": 2.1}}, False),
        ("short_flows", "p99", {"p99_latency": 50}, CUBIC, True),
        ("short_flows", "p99", {"p99_latency": 51}, CUBIC, False),
    ],
)
def test_thresholds(
    target: str,
    requirement: str,
    ndm: Mapping[str, float],
    others: Mapping[str, Mapping[str, float]],
    expected: bool | None,
) -> None:
    assert met(target, {"ndm": ndm, **others}, requirement) is Verdict.of(expected)


def test_queueing_asks_for_no_less_than_three_packets() -> None:
    """At 1 Mbit/s a packet takes 12.1 ms, so a quarter of Cubic's 20 ms is out of reach."""
    cells: list[Cell] = []
    for name in ("buffers/1mbit_10ms_0_5bdp", "buffers/200mbit_10ms_0_5bdp"):
        values = {"ndm": {"queueing_p95": [6.0] * 3}, "cubic": {"queueing_p95": [20.0] * 3}}
        cells += made_cells(load_scenario(name), values)
    (wanted,) = (one for one in TARGETS["buffers"].requirements if one.name == "queueing")
    bounds = {one.scenario: one.bound for one in wanted.judge(Evidence(cells), "ndm")}
    slow, fast = bounds["buffers/1mbit_10ms_0_5bdp"], bounds["buffers/200mbit_10ms_0_5bdp"]
    assert slow is not None
    assert fast is not None
    assert (slow.high, slow.source) == (pytest.approx(3 * 1514 * 8 / 1e3), "three packets")
    assert (fast.high, fast.source) == (5.0, "0.25 × cubic")


def test_usable_capacity_excludes_the_loss() -> None:
    (cell,) = made_cells(load_scenario("loss/2pct"), {"ndm": {"utilisation": [98.0, 49.0]}})
    assert utilisation_after_loss(cell) == pytest.approx([100.0, 50.0])


def test_the_share_that_is_left_to_the_rival() -> None:
    scenario = load_scenario("compete/cubic_1v1")
    payload_mbps = 20 * 1448 / 1514

    def flow(mbps: float, start_s: float) -> FlowResult:
        duration_s = 60 - start_s
        received = mbps * BITS_PER_MBIT / 8 * duration_s
        return FlowResult(scheme="made", start_s=start_s, duration_s=duration_s, received_bytes=round(received))

    # alone for 6 s, then half of the link
    fair = payload_mbps * (6 + 54 / 2) / 60
    result = RunResult(duration_s=60.0, flows=[flow(3.0, 6.0), flow(1.2 * fair, 0.0)])
    assert competing_share(result, scenario) == pytest.approx(1.2)
    cell = Cell(scenario, SCHEMES["ndm"], seeds=[1, 2], result=lambda _: result)
    assert list(per_run(competing_share)(cell)) == pytest.approx([1.2, 1.2])
