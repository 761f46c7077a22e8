"""The claims of the TCP-NV paper, each with the measured figures that decide it: pure functions.

Section numbers are those of the paper. "Others" are Reno, Cubic and CDG, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compare.metrics.cells import Cell
from compare.metrics.series import flow_series, goodput_between
from compare.published.tcp_nv import SCENARIO_FOLDER
from compare.statistics.estimates import estimate_of
from compare.statistics.numbers import number
from compare.statistics.verdict import Verdict
from env.lab import FlowResult
from env.network.schemes import SCHEMES

NV = "nv"
OTHERS = ("reno", "cubic", "cdg")
LONG_S = 120.0  # shortest run for a verdict on a claim about 5 minutes
MOMENTS = (0.02, 1 / 6, 0.5, 1.0)  # as shares of the run: 6 s, 50 s, half and all of 5 minutes
LABELS = {name: SCHEMES[name].label for name in OTHERS} | {NV: "NV"}


def _verdict(holds: Sequence[bool]) -> Verdict:
    """Return the verdict on a claim of several parts: MET if all of them hold, PARTLY if some do."""
    return Verdict.MET if all(holds) else Verdict.PARTLY if any(holds) else Verdict.MISSED


@dataclass(frozen=True)
class Claim:
    """A claim, the figures that decide it, and the verdict."""

    section: str
    text: str
    scenario: str
    measured: str
    verdict: Verdict


class Evidence:
    """Means over the seeds by scenario, scheme and metric, and the flows of one run per scenario and scheme.

    folder: of the scenarios; another folder than nv has the same experiments, and is asked with the names of nv. If
    several cells have the same scenario and scheme, the first counts, or the longest for claims about long runs.
    """

    def __init__(self, cells: Sequence[Cell], folder: str = SCENARIO_FOLDER) -> None:
        self._cells: dict[tuple[str, str], Cell] = {}
        self._longest: dict[tuple[str, str], Cell] = {}
        for cell in cells:
            parent, _, name = cell.scenario.name.rpartition("/")
            if parent != folder or not cell.seeds:
                continue
            key = (f"{SCENARIO_FOLDER}/{name}", cell.scheme.name)
            self._cells.setdefault(key, cell)
            if cell.scenario.duration_s > self._longest.setdefault(key, cell).scenario.duration_s:
                self._longest[key] = cell

    def has(self, scenario: str, schemes: Sequence[str]) -> bool:
        """True if the scenario was measured with all of these schemes."""
        return all((scenario, scheme) in self._cells for scheme in schemes)

    def mean(self, scenario: str, scheme: str, metric: str) -> float:
        """Return a metric's mean; NaN without a value."""
        estimate = estimate_of(self._cells[scenario, scheme], metric)
        return math.nan if estimate is None else estimate.mean

    def flows(self, scenario: str, scheme: str) -> list[FlowResult]:
        """Return the flows of the first seed with a result."""
        return self._cells[scenario, scheme].flows

    def longest_flows(self, scenario: str, scheme: str) -> list[FlowResult]:
        """Return the flows of the first seed with a result of the longest run."""
        return self._longest[scenario, scheme].flows


@dataclass(frozen=True)
class Ratio:
    """A claim that the ratio of a metric of the others to NV's (inverse: of NV's to the others') lies in [low, high].

    It holds if the ratio lies in the range for each of the others, and in part if for one of them.
    """

    section: str
    text: str
    scenario: str
    metric: str
    low: float
    high: float = math.inf
    inverse: bool = False
    others: tuple[str, ...] = OTHERS

    def judge(self, evidence: Evidence) -> Claim:
        """Return the claim with its figures."""
        if not evidence.has(self.scenario, (NV, *self.others)):
            return Claim(self.section, self.text, self.scenario, "not measured", Verdict.NOT_MEASURED)
        of_nv = evidence.mean(self.scenario, NV, self.metric)
        figures, holds = [], []
        for other in self.others:
            of_other = evidence.mean(self.scenario, other, self.metric)
            ratio = _over(of_nv, of_other) if self.inverse else _over(of_other, of_nv)
            holds.append(self.low <= ratio <= self.high)
            figures.append(f"{LABELS[other]} {number(of_other)}, {_times(ratio)}")
        measured = f"{self.metric}: NV {number(of_nv)}; {'; '.join(figures)}"
        return Claim(self.section, self.text, self.scenario, measured, _verdict(holds))


def _over(a: float, b: float) -> float:
    if b:
        return a / b
    return math.inf if a > 0 else math.nan


def _times(ratio: float) -> str:
    return "both 0" if math.isnan(ratio) else ("against 0" if math.isinf(ratio) else f"{ratio:.3g} times")


RATIOS = (
    Ratio("4.1", "NV has 1 to 2 % less goodput than the others (RPC)", "nv/1s1c1fr", "rate", 0.97, 1.03),
    Ratio("4.1", "NV has 1 to 2 % less goodput than the others (stream)", "nv/1s1c1fs", "rate", 0.97, 1.03),
    Ratio("4.1", "NV's cwnd is at least 4 times smaller (RPC)", "nv/1s1c1fr", "cwnd", 4),
    Ratio("4.1", "NV's cwnd is at least 4 times smaller (stream)", "nv/1s1c1fs", "cwnd", 4),
    Ratio("4.1", "NV's RTT is 4 times smaller (RPC)", "nv/1s1c1fr", "rtt", 4),
    Ratio("4.1", "NV's RTT is 4 times smaller (stream)", "nv/1s1c1fs", "rtt", 4),
    Ratio("4.2", "with 2 clients the others have 1 to 3 % more goodput (RPC)", "nv/1s2c1fr", "rate", 0.97, 1.03),
    Ratio("4.2", "with 2 clients the others have 1 to 3 % more goodput (stream)", "nv/1s2c1fs", "rate", 0.97, 1.03),
    Ratio("4.2", "and 10 times NV's RTT (RPC)", "nv/1s2c1fr", "rtt", 10),
    Ratio("4.2", "and 10 times NV's RTT (stream)", "nv/1s2c1fs", "rtt", 10),
    Ratio("4.4", "beside 1 MB requests, NV's of 10 KB are 6 times faster", "nv/2s3c3fvr", "mean_latency_10K", 5),
    Ratio("4.4", "their p99 latency is about 7 times lower", "nv/2s3c3fvr", "p99_latency_10K", 6),
    Ratio("4.4", "their rate is almost 6 times higher", "nv/2s3c3fvr", "rate_10K", 5, inverse=True),
    Ratio("4.4", "the p99 latency of NV's 1 MB requests is lower", "nv/2s3c3fvr", "p99_latency_1M", 1),
    Ratio("4.4", "their mean latency is slightly higher", "nv/2s3c3fvr", "mean_latency_1M", 0.85, 1),
    Ratio("4.4", "all use the links alike", "nv/2s3c3fvr", "rate", 0.97, 1.03),
    Ratio("4.6", "32 RPC flows: NV loses 7 to 10 times less", "nv/1s4c8fr", "retrans_pct", 7),
    Ratio("4.6", "32 RPC flows: NV's p99 latency is 4 times lower", "nv/1s4c8fr", "p99_latency", 3.5),
    Ratio("4.6", "32 streams: NV loses 7 times less", "nv/1s4c8fs", "retrans_pct", 6, others=("reno", "cdg")),
    Ratio("4.7", "64 RPC flows: NV loses as much", "nv/1s4c16fr", "retrans_pct", 0, 1.1, others=("reno", "cdg")),
    Ratio("4.7", "64 RPC flows: similar p99", "nv/1s4c16fr", "p99_latency", 0.8, 1.25, others=("reno", "cdg")),
    Ratio("4.8", "long runs: NV's 10 KB requests have a 4 times lower p99", "nv/2s3c5fr", "p99_latency_10K", 3.5),
    Ratio("4.8", "long runs: and a 3 times lower mean latency", "nv/2s3c5fr", "mean_latency_10K", 2.7),
    Ratio("4.8", "long runs: NV loses next to nothing, the others much", "nv/2s3c5fr", "retrans_total", 1000),
)  # fmt: skip


def fairness(evidence: Evidence) -> Claim:
    """4.2: NV's two streams share less evenly than the others'."""
    text, scenario = "with 2 clients NV is not as fair as the others", "nv/1s2c1fs"
    if not evidence.has(scenario, (NV, *OTHERS)):
        return Claim("4.2", text, scenario, "not measured", Verdict.NOT_MEASURED)
    jain = {scheme: evidence.mean(scenario, scheme, "jain") for scheme in (NV, *OTHERS)}
    figures = ", ".join(f"{LABELS[scheme]} {value:.4f}" for scheme, value in jain.items())
    return Claim("4.2", text, scenario, f"Jain index: {figures}", _verdict([jain[NV] < jain[s] for s in OTHERS]))


def cubic_streams(evidence: Evidence) -> Claim:
    """4.6: Cubic's losses with 32 streams."""
    text, scenario = (
        "32 streams: Cubic loses far more (5 %), its p99 latency is almost 10 times that of the rest",
        "nv/1s4c8fs",
    )
    if not evidence.has(scenario, (NV, *OTHERS)):
        return Claim("4.6", text, scenario, "not measured", Verdict.NOT_MEASURED)
    rest = ("reno", "nv", "cdg")
    lost = {scheme: evidence.mean(scenario, scheme, "retrans_pct") for scheme in ("cubic", *rest)}
    p99 = {scheme: evidence.mean(scenario, scheme, "p99_latency") for scheme in ("cubic", *rest)}
    figures = [f"{LABELS[s]} {number(lost[s])} % and {number(p99[s])} us" for s in ("cubic", *rest)]
    holds = [all(lost["cubic"] > 3 * lost[s] for s in rest), all(p99["cubic"] > 7 * p99[s] for s in rest)]
    return Claim("4.6", text, scenario, f"retransmitted and p99: {'; '.join(figures)}", _verdict(holds))


def adaptation(evidence: Evidence) -> Claim:
    """4.3: an NV stream makes room for another one, without loss, and takes the rate back."""
    text, scenario = "an NV flow makes room for one that joins, without losses, and takes the rate back", "nv/1s2c1fsp"
    if not evidence.has(scenario, (NV,)):
        return Claim("4.3", text, scenario, "not measured", Verdict.NOT_MEASURED)
    first, second = evidence.flows(scenario, NV)
    joins_s, leaves_s = second.start_s, second.start_s + second.duration_s
    end_s = first.duration_s
    # the first fifth of each phase belongs to the change and is not measured
    settle_s = (leaves_s - joins_s) / 5
    alone, together, after = (
        goodput_between(first, from_s, to_s)
        for from_s, to_s in ((joins_s / 5, joins_s), (joins_s + settle_s, leaves_s), (leaves_s + settle_s, end_s))
    )
    other = goodput_between(second, joins_s + settle_s, leaves_s)
    retransmits = first.retransmits + second.retransmits
    holds = [0.3 < together / alone < 0.7, after > 0.9 * alone, retransmits == 0]
    measured = (
        f"first flow {number(alone)} Mbit/s alone, {number(together)} beside the second's {number(other)}, "
        f"{number(after)} after it; {retransmits:.0f} retransmissions"
    )
    return Claim("4.3", text, scenario, measured, _verdict(holds))


def unfairness_to_reno(evidence: Evidence) -> Claim:
    """4.5: a Reno flow takes nearly everything from an NV flow, but not from a Reno, Cubic or CDG flow."""
    return _unfairness(evidence, "Reno", "nv/1s2c1fvrp")


def unfairness_to_cubic(evidence: Evidence) -> Claim:
    """4.5: a Cubic flow does the same."""
    return _unfairness(evidence, "Cubic", "nv/1s2c1fvrp_cubic")


def _unfairness(evidence: Evidence, competing: str, scenario: str) -> Claim:
    text = f"a {competing} flow takes the bandwidth of an NV flow; Reno, Cubic and CDG hold their share beside it"
    if not evidence.has(scenario, (NV, *OTHERS)):
        return Claim("4.5", text, scenario, "not measured", Verdict.NOT_MEASURED)
    shares = {scheme: _share_beside(evidence.flows(scenario, scheme)) for scheme in (NV, *OTHERS)}
    figures = ", ".join(f"{LABELS[scheme]} {100 * share:.0f} %" for scheme, share in shares.items())
    holds = [shares[NV] < 0.3, all(0.3 <= shares[scheme] <= 0.7 for scheme in OTHERS)]
    return Claim("4.5", text, scenario, f"share of the first flow: {figures}", _verdict(holds))


def _share_beside(flows: Sequence[FlowResult]) -> float:
    """Return the first flow's share of the goodput of both while the second one runs, without the first fifth."""
    first, second = flows[:2]
    from_s = second.start_s + second.duration_s / 5
    to_s = second.start_s + second.duration_s
    first_mbps, second_mbps = goodput_between(first, from_s, to_s), goodput_between(second, from_s, to_s)
    return first_mbps / (first_mbps + second_mbps)


def drift(evidence: Evidence) -> Claim:
    """4.8: the minimum RTT of NV's flows grows, then stays."""
    text, scenario = "min RTT grows to 300 to 450 us within 50 s, then is stable: NV stays in control", "nv/2s3c5fr"
    if not evidence.has(scenario, (NV,)):
        return Claim("4.8", text, scenario, "not measured", Verdict.NOT_MEASURED)
    flows = evidence.longest_flows(scenario, NV)
    end_s = flows[0].duration_s
    figures, medians = [], []
    for share in MOMENTS:
        minima_us = [rtt_us for flow in flows if math.isfinite(rtt_us := min_rtt_us(flow, share * end_s))]
        if not minima_us:
            continue  # no flow has begun
        medians.append(float(np.median(minima_us)))
        figures.append(
            f"{number(medians[-1])} us ({number(min(minima_us))} to {number(max(minima_us))}) at {share * end_s:.0f} s"
        )
    measured = f"median of the flows: {', '.join(figures)}"
    if end_s < LONG_S or len(medians) < len(MOMENTS):
        return Claim("4.8", text, scenario, f"{measured}: the run is too short", Verdict.NOT_MEASURED)
    holds = [
        medians[-1] > 2 * medians[0],  # grows
        medians[-1] < 1.5 * medians[1],  # is stable after a sixth of the run
        300 / 1.5 < medians[-1] < 450 * 1.5,
    ]
    return Claim("4.8", text, scenario, measured, _verdict(holds))


def min_rtt_us(flow: FlowResult, at_s: float) -> float:
    """Return the congestion control's minimum RTT at a time of the run, us; NaN before its first one."""
    series = flow_series(flow)
    before = (series["t_s"] <= at_s + 1e-3) & np.isfinite(series["cc_min_rtt_ms"])
    return float(series["cc_min_rtt_ms"][before][-1] * 1e3) if before.any() else math.nan


SPECIAL: tuple[Callable[[Evidence], Claim], ...] = (
    fairness,
    adaptation,
    unfairness_to_reno,
    unfairness_to_cubic,
    cubic_streams,
    drift,
)


def judge_claims(evidence: Evidence) -> list[Claim]:
    """Return every claim in the order of the paper's sections."""
    claims = [ratio.judge(evidence) for ratio in RATIOS] + [judge(evidence) for judge in SPECIAL]
    return sorted(claims, key=lambda claim: claim.section)
