"""The claims of the TCP-NV paper: how measured runs decide them, and the document about them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from compare.experiment.experiment import Run, plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.metrics.cells import Cell
from compare.metrics.group_metrics import find_groups, group_metrics
from compare.metrics.series import goodput_between
from compare.published.tcp_nv import load_tables
from compare.statistics.verdict import Verdict
from env.errors import UserError
from env.lab import FlowResult, RunResult
from env.network.scenario import Flow, Scenario
from env.network.schemes import SCHEMES
from studies.nv import claims as nv_claims
from studies.nv.claims import Evidence, Ratio, judge_claims, min_rtt_us
from studies.nv.document import render_document, table
from tests.support.results import made_flow, made_request_flow


def cell(scenario: str, scheme: str, flows: list[FlowResult] | None = None, **values: float) -> Cell:
    described = Scenario(name=scenario, claim="made", duration_s=4.0, path={"rtt_ms": 1}, flows=[Flow()])
    result = RunResult(duration_s=4.0, flows=flows or [])
    filled = Cell(described, SCHEMES[scheme], seeds=[1], result=lambda _: result, under_test=[True] * len(result.flows))
    filled.values = {name: [value] for name, value in values.items()}
    return filled


def stream(rates_mbps: list[float], *, start_s: float = 0.0, retransmits: int = 0) -> FlowResult:
    """A flow with one rate a second."""
    times = [start_s + i + 1 for i in range(len(rates_mbps))]
    so_far = [sum(rates_mbps[: i + 1]) * 1e6 / 8 for i in range(len(rates_mbps))]
    sent = [(t, 10.0, 100.0 * t) for t in times]
    received = list(zip(times, so_far, strict=True))
    duration_s = float(len(rates_mbps))
    return made_flow(sent=sent, received=received, retransmits=retransmits, start_s=start_s, duration_s=duration_s)


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [((8.0, 9.0, 10.0), "yes"), ((8.0, 3.0, 10.0), "in part"), ((2.0, 3.0, 1.0), "no"), ((4.0, 4.0, 4.0), "yes")],
)
def test_ratio_holds_for_all_some_or_none(theirs: tuple[float, ...], verdict: str) -> None:
    cells = [cell("nv/x", "nv", rtt=1.0)]
    cells += [cell("nv/x", name, rtt=value) for name, value in zip(("reno", "cubic", "cdg"), theirs, strict=True)]
    claim = Ratio("4.1", "text", "nv/x", "rtt", 4).judge(Evidence(cells))
    assert claim.verdict.value == verdict
    assert f"Reno {theirs[0]:g}, {theirs[0]:g} times" in claim.measured


@pytest.mark.parametrize(
    ("ours", "theirs", "low", "verdict"),
    [(0.0, 5.0, 7, "yes"), (0.0, 0.0, 7, "no"), (1.0, 0.0, 7, "no")],
    ids=["none against some", "none on both sides decides nothing in its favour", "some against none"],
)
def test_a_ratio_to_nothing(ours: float, theirs: float, low: float, verdict: str) -> None:
    evidence = Evidence([cell("nv/x", "nv", lost=ours), cell("nv/x", "reno", lost=theirs)])
    assert Ratio("4.6", "text", "nv/x", "lost", low, others=("reno",)).judge(evidence).verdict.value == verdict


def test_a_claim_without_its_runs_is_not_decided() -> None:
    claims = judge_claims(Evidence([]))
    assert len(claims) == len(nv_claims.RATIOS) + len(nv_claims.SPECIAL)
    assert {claim.verdict for claim in claims} == {Verdict.NOT_MEASURED}
    assert [claim.section for claim in claims] == sorted(claim.section for claim in claims)


@pytest.mark.parametrize(
    ("first", "retransmits", "verdict"),
    [
        ([9, 9, 9, 4, 4, 4, 9, 9, 9], 0, "yes"),
        ([9, 9, 9, 4, 4, 4, 9, 9, 9], 3, "in part"),
        ([9, 9, 9, 9, 9, 9, 9, 9, 9], 0, "in part"),
        ([9, 9, 9, 1, 1, 1, 2, 2, 2], 1, "no"),
    ],
    ids=["makes room and comes back", "with losses", "makes no room", "gives up"],
)
def test_adaptation_to_a_flow_that_joins_and_leaves(first: list[float], retransmits: int, verdict: str) -> None:
    flows = [stream(first, retransmits=retransmits), stream([5, 5, 5], start_s=3.0)]
    assert nv_claims.adaptation(Evidence([cell("nv/1s2c1fsp", "nv", flows)])).verdict.value == verdict


def test_unfairness_is_share_beside_the_second_flow() -> None:
    cells = []
    for scheme, beside in (("nv", 1.0), ("reno", 4.0), ("cubic", 5.0), ("cdg", 4.0)):
        cells.append(
            cell("nv/1s2c1fvrp", scheme, [stream([9, 9, beside, beside, 9]), stream([10 - beside] * 2, start_s=2.0)])
        )
    claim = nv_claims.unfairness_to_reno(Evidence(cells))
    assert claim.verdict is Verdict.MET
    assert "NV 10 %, Reno 40 %, Cubic 50 %, CDG 40 %" in claim.measured


def test_rates_and_rtts_are_taken_at_their_instants() -> None:
    flow = stream([10, 20, 30])
    assert goodput_between(flow, 0.5, 2.0) == pytest.approx((5 + 20) / 1.5)
    assert min_rtt_us(flow, 2.0) == pytest.approx(200)
    assert math.isnan(min_rtt_us(flow, 0.5))


def test_drift_is_judged_by_the_flows_medians() -> None:
    def grown(values_us: list[float]) -> FlowResult:
        sent = [(30.0 * i or 5.0, 10.0, value) for i, value in enumerate(values_us)]
        return made_flow(sent=sent, received=[(300.0, 1e9)], duration_s=300.0)

    stable = [grown([30, 300, 300, 310, 320, 320, 320, 320, 320, 330]) for _ in range(3)]
    assert nv_claims.drift(Evidence([cell("nv/2s3c5fr", "nv", stable)])).verdict is Verdict.MET
    growing = [grown([30, 60, 90, 120, 150, 180, 210, 240, 270, 300]) for _ in range(3)]
    assert nv_claims.drift(Evidence([cell("nv/2s3c5fr", "nv", growing)])).verdict is Verdict.PARTLY


def test_evidence_uses_longest_run_for_drift_only() -> None:
    short = cell("nv/x", "nv", [stream([1])], rtt=1.0)
    long = cell("nv/x", "nv", [stream([2])], rtt=2.0)
    long.scenario.duration_s = 300.0
    evidence = Evidence([short, long, cell("nv_frames/x", "nv", rtt=3.0)])
    assert evidence.mean("nv/x", "nv", "rtt") == 1.0
    assert evidence.flows("nv/x", "nv") == short.flows
    assert evidence.longest_flows("nv/x", "nv") == long.flows
    assert Evidence([short, cell("nv_frames/x", "nv", rtt=3.0)], "nv_frames").mean("nv/x", "nv", "rtt") == 3.0


def whole(scenario: str, scheme: str, cwnd: float) -> Cell:
    flows = [made_request_flow(size_bytes=1 << 20, cwnd=cwnd, rate_mbps=8000)]
    filled = cell(scenario, scheme, flows)
    filled.groups = find_groups(flows, [True])
    filled.values = {metric.name: [value] for metric, value in group_metrics(flows, [True]).items()}
    return filled


def test_table_shows_measured_and_published_figures() -> None:
    cells = [whole(f"nv/{name}", scheme, 55) for name in ("1s1c1fr", "1s1c1fs") for scheme in ("nv", "ndm")]
    lines = table(1, cells, load_tables()).splitlines()
    assert lines[0] == (
        "| experiment | scheme | cwnd, packets | RTT, us | Rate, Mbit/s | Retransmitted, % | p99 latency, us |"
    )
    assert lines[2].startswith("| 1s1c1fr | TCP-NV | 55/–/53 | 200/–/64 | 8,000/–/8,131 | 0/–/0 |")
    assert lines[3].startswith("| 1s1c1fr | NDM | 55 | 200 | 8,000 | 0 |")
    assert lines[4].startswith("| 1s1c1fs | TCP-NV | 55/–/51 |")
    with_frames = table(1, [*cells, whole("nv_frames/1s1c1fr", "nv", 50)], load_tables()).splitlines()
    assert with_frames[2].startswith("| 1s1c1fr | TCP-NV | 55/50/53 | 200/200/64 |")
    assert with_frames[3:] == lines[3:]
    with pytest.raises(UserError, match="table 2: no finished run of nv/1s2c1fr, nv/1s2c1fs"):
        table(2, cells, load_tables())


def test_each_size_of_requests_has_a_row() -> None:
    flows = [made_request_flow(size_bytes=size, cwnd=20, rate_mbps=800) for size in (1 << 20, 10240)]
    filled = cell("nv/2s3c3fvr", "nv", flows)
    filled.groups = find_groups(flows, [True, True])
    filled.values = {metric.name: [value] for metric, value in group_metrics(flows, [True, True]).items()}
    lines = table(3, [filled], load_tables()).splitlines()
    assert lines[0].startswith("| experiment | scheme | flows | cwnd, packets |")
    assert [line.split(" | ")[:3] for line in lines[2:]] == [
        ["| 2s3c3fvr", "TCP-NV", "1M"],
        ["| 2s3c3fvr", "TCP-NV", "10K"],
    ]


def test_only_marked_blocks_are_replaced(tmp_path: Path) -> None:
    experiment = plan(["bottleneck"], ["reno"], 1, None, 50)
    store = Store(tmp_path)
    with store.claim(experiment):
        run = Run(experiment.scenarios[0], experiment.schemes[0], 1)
        store.save(run, pack(RunResult(duration_s=2.0, flows=[stream([5, 5])])))
    document = "# Title\n\n<!-- claims -->\nyesterday\n<!-- end -->\n\nProse of `<!-- end -->` stays.\n"
    written = render_document(document, [tmp_path])
    assert written.startswith("# Title\n\n<!-- claims -->\n| section | claim |")
    assert written.endswith("<!-- end -->\n\nProse of `<!-- end -->` stays.\n")
    assert "yesterday" not in written
    assert render_document(written, [tmp_path]) == written
    with pytest.raises(UserError, match="table 1: no finished run"):
        render_document("<!-- table 1 -->\n<!-- end -->\n", [tmp_path])
