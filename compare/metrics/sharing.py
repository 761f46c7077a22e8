"""Metrics of how bulk flows share a path: distance from the fair share, time to reach it, stability.

Convergence follows PCC Vivace (Dong et al., NSDI 2018, section 4.2): it is the time from a flow's entry until the flow
stays within 25 % of its ideal fair share for at least 5 s. Stability is the standard deviation of the flow's throughput
from then on. Both are also measured after another flow's end and after a step of the rate, for every active flow under
test. The ideal fair share is the path's capacity divided by the number of active flows.

If less than 20 s lie between two changes, a quarter of that time replaces the 5 s. Phases of less than 2 s are not
measured. Throughput is taken over a fifth of the 5 s (1 s). Changes within a second of each other, such as staggered
starts, count as one. A flow that does not converge before the next change counts with the whole time until that change;
`converged` is the share of flows that converge.

Shapes: W windows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compare.metrics.flow_metrics import goodput_mbps
from compare.metrics.metric import BITS_PER_MBIT, Floats, Metric, finite_mean
from compare.metrics.series import received_series
from env.lab import FlowResult
from env.network.capacity import Capacity, network_capacity
from env.network.path import Path
from env.network.scenario import UNDER_TEST, Scenario

BAND = 0.25  # of the fair share, above and below
HOLD_S = 5.0
SHORT_HOLD = 0.25  # of the time between two changes, if that is less
WINDOWS_PER_HOLD = 5
STEPS_PER_WINDOW = 10  # the windows overlap: a new one begins with each step
ONE_CHANGE_S = 1.0
SHORTEST_PHASE_S = 2.0  # its windows have 0.1 s; throughput over less is that of single packets

SHARE = "share_"  # begins the names of share_metric()
GAP = Metric(
    "fair_share_gap",
    "Mbit/s",
    "Distance from the fair share",
    -1,
    "distance of a flow's goodput from its fair share, mean over the flows under test",
)
CONVERGENCE = Metric(
    "convergence", "s", "Convergence", -1, "from a flow's entry until it stays within 25 % of its fair share for 5 s"
)
AFTER_END = Metric("convergence_after_end", "s", "Convergence after an end", -1, "the same, from another flow's end")
AFTER_STEP = Metric("convergence_after_step", "s", "Convergence after a step", -1, "the same, from a step of the rate")
CONVERGED = Metric("converged", "%", "Converged", 1, "share of these times that end before the next change")
STABILITY = Metric(
    "stability", "Mbit/s", "Stability", -1, "standard deviation of a flow's throughput after it has converged"
)


def share_metric(scheme: str) -> Metric:
    """Return the metric of the share against a competing scheme."""
    meaning = "mean goodput of the flows under test over their mean fair share: 1 is fair, above 1 they take more"
    return Metric(f"{SHARE}{scheme}", "1", f"Share beside {scheme}", 0, meaning)


def sharing_metrics(flows: Sequence[FlowResult], scenario: Scenario) -> dict[Metric, float]:
    """Return the metrics of how bulk flows share a router path; NaN for a metric without data.

    Empty for other scenarios: traffic that is not bulk does not fill its share, and on a loopback path, in a rack or
    over a chain no link is shared by all flows.
    """
    path = scenario.network
    if not isinstance(path, Path) or path.topology != "router" or {flow.kind for flow in scenario.flows} != {"bulk"}:
        return {}
    capacity = network_capacity(path, scenario.duration_s)
    tested = [i for i, flow in enumerate(scenario.flows_with(UNDER_TEST)) if flow["scheme"] == UNDER_TEST]
    metrics = _shares(flows, scenario, capacity, tested)
    measured = [convergence for convergence in convergences(flows, path, capacity) if convergence.flow in tested]
    metrics[CONVERGENCE] = finite_mean(each.seconds for each in measured if each.kind == "entry")
    if any(flow.duration_s and flow.start_s + flow.duration_s < scenario.duration_s for flow in scenario.flows):
        metrics[AFTER_END] = finite_mean(each.seconds for each in measured if each.kind == "end")
    if any(step.rate_mbps is not None for step in path.steps):
        metrics[AFTER_STEP] = finite_mean(each.seconds for each in measured if each.kind == "step")
    metrics[CONVERGED] = 100 * finite_mean(each.converged for each in measured)
    metrics[STABILITY] = finite_mean(each.deviation_mbps for each in measured)
    return metrics


def _shares(
    flows: Sequence[FlowResult], scenario: Scenario, capacity: Capacity, tested: Sequence[int]
) -> dict[Metric, float]:
    competing = sorted({flow.scheme for flow in scenario.flows} - {UNDER_TEST})
    if not competing:
        return {}
    fair = fair_shares_mbps(flows, capacity)
    goodput = [goodput_mbps(flow) for flow in flows]
    fair_mean = finite_mean(fair[i] for i in tested)
    share = finite_mean(goodput[i] for i in tested) / fair_mean if fair_mean else math.nan
    return {share_metric("+".join(competing)): share, GAP: finite_mean(abs(fair[i] - goodput[i]) for i in tested)}


def fair_shares_mbps(flows: Sequence[FlowResult], capacity: Capacity) -> list[float]:
    """Return the mean of each flow's fair share, Mbit/s of payload: the capacity over the number of active flows."""
    spans = [_span(flow) for flow in flows]
    shares = [0.0] * len(flows)
    for begin_s, end_s, active in active_intervals(flows):
        for i in active:
            shares[i] += float(capacity.between(begin_s, end_s)) / len(active)
    return [share / (stop_s - start_s) for share, (start_s, stop_s) in zip(shares, spans, strict=True)]


def active_intervals(flows: Sequence[FlowResult]) -> Iterator[tuple[float, float, list[int]]]:
    """Yield begin and end, s, of each interval between starts and ends of flows, and the indices of its flows."""
    spans = [_span(flow) for flow in flows]
    for begin_s, end_s in itertools.pairwise(sorted({edge for span in spans for edge in span})):
        yield begin_s, end_s, [i for i, (start_s, stop_s) in enumerate(spans) if start_s <= begin_s and end_s <= stop_s]


def _span(flow: FlowResult) -> tuple[float, float]:
    # rounded, so that all flows that end with the run end at the same time
    return round(flow.start_s, 6), round(flow.start_s + flow.duration_s, 6)


@dataclass(frozen=True)
class Phase:
    """The time between two changes of the set of flows or of the rate.

    change_s, begin_s: times of the first and of the last change that begin it and count as one. entered: flows that
    start with it; active: flows that run through it. ended, stepped: whether a flow's end or a step of the rate is
    among the changes.
    """

    change_s: float
    begin_s: float
    end_s: float
    entered: tuple[int, ...]
    active: tuple[int, ...]
    ended: bool
    stepped: bool


@dataclass(frozen=True)
class Convergence:
    """How one flow converged after one change.

    kind: entry, end or step. seconds: the time from the change to convergence, or to the next change. deviation_mbps:
    standard deviation of the throughput from then on; NaN without convergence.
    """

    flow: int
    kind: str
    seconds: float
    converged: bool
    deviation_mbps: float


def phases(flows: Sequence[FlowResult], path: Path) -> list[Phase]:
    """Return the phases of a run in order."""
    spans = [_span(flow) for flow in flows]
    steps_s = [step.at_s for step in path.steps if step.rate_mbps is not None]
    last_s = max(end_s for _, end_s in spans)
    times = sorted({t for t in (*steps_s, *(edge for span in spans for edge in span)) if t < last_s})
    changes: list[list[float]] = []
    for t in times:
        if changes and t - changes[-1][-1] <= ONE_CHANGE_S:
            changes[-1].append(t)
        else:
            changes.append([t])
    result = []
    for i, change in enumerate(changes):
        change_s, begin_s = change[0], change[-1]
        end_s = changes[i + 1][0] if i + 1 < len(changes) else last_s
        active = tuple(k for k, (start_s, stop_s) in enumerate(spans) if start_s <= begin_s and stop_s >= end_s)
        entered = tuple(k for k in active if change_s <= spans[k][0] <= begin_s)
        ended = any(change_s <= stop_s <= begin_s for _, stop_s in spans)
        stepped = any(change_s <= t <= begin_s for t in steps_s)
        result.append(Phase(change_s, begin_s, end_s, entered, active, ended, stepped))
    return result


def convergences(flows: Sequence[FlowResult], path: Path, capacity: Capacity) -> list[Convergence]:
    """Return how every flow converged after its entry, after ends of other flows, and after steps of the rate."""
    result = []
    for phase in phases(flows, path):
        if phase.end_s - phase.begin_s < SHORTEST_PHASE_S:
            continue
        for i in phase.active:
            if i in phase.entered:
                kind, since_s = "entry", _span(flows[i])[0]
            elif phase.ended or phase.stepped:
                kind, since_s = "step" if phase.stepped else "end", phase.change_s
            else:
                continue  # only the flow that entered is measured
            result.append(_converge(flows[i], i, kind, since_s, phase, capacity))
    return result


def _converge(flow: FlowResult, index: int, kind: str, since_s: float, phase: Phase, capacity: Capacity) -> Convergence:
    hold_s = min(HOLD_S, SHORT_HOLD * (phase.end_s - phase.begin_s))
    window_s = hold_s / WINDOWS_PER_HOLD
    step_s = window_s / STEPS_PER_WINDOW
    windows = int((phase.end_s - phase.begin_s - window_s) / step_s + 1e-9) + 1  # W
    begins = phase.begin_s + step_s * np.arange(windows, dtype=np.float64)  # (W,)
    rates = _throughput_mbps(flow, begins, window_s)  # (W,)
    fair = capacity.between(begins, begins + window_s) / window_s / len(phase.active)  # (W,)
    needed = STEPS_PER_WINDOW * (WINDOWS_PER_HOLD - 1) + 1  # windows that begin and end within the hold
    held = _begins_run(np.abs(rates - fair) <= BAND * fair, needed)
    if not held.any():
        return Convergence(index, kind, phase.end_s - since_s, False, math.nan)
    at_s = float(begins[np.argmax(held)])
    windows = int((phase.end_s - at_s) / window_s + 1e-9)
    after = _throughput_mbps(flow, at_s + window_s * np.arange(windows, dtype=np.float64), window_s)
    return Convergence(index, kind, at_s - since_s, True, float(after.std(ddof=1)))


def _throughput_mbps(flow: FlowResult, begins_s: Floats, window_s: float) -> Floats:
    """Return the receiver's throughput in the windows that begin at these times, Mbit/s, shape (W,)."""
    t_s, received_bytes = received_series(flow)
    in_window = np.interp(begins_s + window_s, t_s, received_bytes) - np.interp(begins_s, t_s, received_bytes)
    rates: Floats = in_window * 8 / BITS_PER_MBIT / window_s
    return rates


def _begins_run(good: np.ndarray, needed: int) -> np.ndarray:
    """Return for each index whether a run of `needed` true values begins there; same shape as good."""
    before = np.concatenate([[0], np.cumsum(good)])
    begins = np.zeros(len(good), dtype=bool)
    if len(good) >= needed:
        begins[: len(good) - needed + 1] = before[needed:] - before[:-needed] == needed
    return begins
