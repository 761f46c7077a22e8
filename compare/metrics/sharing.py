"""How bulk flows share a path: their fair shares, the distance from them, and the time until they reach them.

Convergence is measured as PCC Vivace measures it (Dong et al., NSDI 2018, section 4.2): from a flow's entry to the
earliest time after which it stays within 25 % of its ideal fair share for at least 5 s; stability is the standard
deviation of its throughput from then on. The same is measured after another flow's end and after a step of the rate, of
every active flow under test. The ideal share is the path's capacity over the number of its flows.

Where less than 20 s lie between two changes, a quarter of that time replaces the 5 s; less than 2 s are not measured.
Throughput is taken over a fifth of the 5 s (1 s). Changes within a second of each other, such as staggered starts,
count as one. A flow that does not converge before the next change counts with all the time until then; `converged` is
the share of flows that do converge.

Letters of shapes: W windows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compare.metrics.metric import BITS_PER_MBIT, Floats, Metric
from env.lab import FlowResult
from env.network.capacity import Capacity, network_capacity
from env.network.path import Path
from env.network.scenario import UNDER_TEST, Scenario

BAND = 0.25  # of the fair share, either way
HOLD_S = 5.0
SHORT_HOLD = 0.25  # of the time between two changes, where that is less
WINDOWS_PER_HOLD = 5
LOOKS_PER_WINDOW = 10  # how finely the moment of convergence is looked for
ONE_CHANGE_S = 1.0
SHORTEST_PHASE_S = 2.0  # throughput over less than a tenth of a second is that of single packets

GAP = Metric(
    "fair_share_gap",
    "Mbit/s",
    "Distance from the fair share",
    -1,
    "how far the goodput of a flow under test is from its fair share, mean over the flows",
)
CONVERGENCE = Metric(
    "convergence", "s", "Convergence", -1, "from a flow's entry until it stays within 25 % of its fair share for 5 s"
)
AFTER_END = Metric("convergence_after_end", "s", "Convergence after an end", -1, "the same, from another flow's end")
AFTER_STEP = Metric("convergence_after_step", "s", "Convergence after a step", -1, "the same, from a step of the rate")
CONVERGED = Metric("converged", "%", "Converged", 1, "of all these times those before the next change")
STABILITY = Metric(
    "stability", "Mbit/s", "Stability", -1, "standard deviation of a flow's throughput after it has converged"
)


def share_metric(scheme: str) -> Metric:
    """Return the metric of the share beside another scheme."""
    meaning = "mean goodput of the flows under test over their mean fair share: 1 is fair, above 1 they have more"
    return Metric(f"share_{scheme}", "1", f"Share beside {scheme}", 0, meaning)


def sharing_metrics(flows: Sequence[FlowResult], scenario: Scenario) -> dict[Metric, float]:
    """Return the metrics of how bulk flows share a router path; NaN for a metric without data.

    Empty for other scenarios: other traffic does not take its whole share, and a loopback path or a rack has no link
    that all flows share.
    """
    path = scenario.network()
    if not isinstance(path, Path) or path.topology != "router" or {flow.kind for flow in scenario.flows} != {"bulk"}:
        return {}
    capacity = network_capacity(path, scenario.duration_s)
    under_test = [flow["scheme"] == UNDER_TEST for flow in scenario.flows_with(UNDER_TEST)]
    tested = [i for i, is_tested in enumerate(under_test) if is_tested]
    metrics = _of_shares(flows, scenario, capacity, tested)
    measured = [convergence for convergence in convergences(flows, path, capacity) if convergence.flow in tested]
    metrics[CONVERGENCE] = _mean([each.seconds for each in measured if each.kind == "entry"])
    if any(flow.duration_s and flow.start_s + flow.duration_s < scenario.duration_s for flow in scenario.flows):
        metrics[AFTER_END] = _mean([each.seconds for each in measured if each.kind == "end"])
    if any(step.rate_mbps is not None for step in path.steps):
        metrics[AFTER_STEP] = _mean([each.seconds for each in measured if each.kind == "step"])
    metrics[CONVERGED] = 100 * _mean([float(each.converged) for each in measured])
    metrics[STABILITY] = _mean([each.deviation_mbps for each in measured])
    return metrics


def _of_shares(
    flows: Sequence[FlowResult], scenario: Scenario, capacity: Capacity, tested: Sequence[int]
) -> dict[Metric, float]:
    rivals = sorted({flow.scheme for flow in scenario.flows} - {UNDER_TEST})
    if not rivals:
        return {}
    fair = fair_shares_mbps(flows, capacity)
    goodput = [flow.received_bytes * 8 / BITS_PER_MBIT / flow.duration_s for flow in flows]
    fair_mean = _mean([fair[i] for i in tested])
    share = _mean([goodput[i] for i in tested]) / fair_mean if fair_mean else math.nan
    return {share_metric("+".join(rivals)): share, GAP: _mean([abs(fair[i] - goodput[i]) for i in tested])}


def fair_shares_mbps(flows: Sequence[FlowResult], capacity: Capacity) -> list[float]:
    """Return each flow's fair share, Mbit/s of payload: at any time the capacity over the number of active flows."""
    spans = [_span(flow) for flow in flows]
    edges = sorted({edge for span in spans for edge in span})
    shares = [0.0] * len(flows)
    for begin_s, end_s in itertools.pairwise(edges):
        active = [i for i, (start_s, stop_s) in enumerate(spans) if start_s <= begin_s and end_s <= stop_s]
        for i in active:
            shares[i] += float(capacity.between(begin_s, end_s)) / len(active)
    return [share / (stop_s - start_s) for share, (start_s, stop_s) in zip(shares, spans, strict=True)]


def _span(flow: FlowResult) -> tuple[float, float]:
    # rounded: flows that end with their run end in the same microsecond
    start_s = flow.start_s
    return round(start_s, 6), round(start_s + flow.duration_s, 6)


@dataclass(frozen=True)
class Phase:
    """The time between two changes of the set of flows or of the rate.

    change_s: time of the change that begins it; begin_s: time of the last of several changes that count as one.
    entered: flows that began with it; active: all flows in it. ended, stepped: whether it began with the end of a flow
    or a step of the rate.
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
    """How one flow converged after one change. kind: entry, end or step. seconds: the whole phase without convergence.

    deviation_mbps: of its throughput after that; NaN when it did not converge.
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
        begin_s, end_s = change[-1], changes[i + 1][0] if i + 1 < len(changes) else last_s
        within = (change[0], change[-1])
        active = tuple(k for k, (start_s, stop_s) in enumerate(spans) if start_s <= begin_s and stop_s >= end_s)
        entered = tuple(k for k in active if within[0] <= spans[k][0] <= within[1])
        ended = any(within[0] <= stop_s <= within[1] for _, stop_s in spans)
        stepped = any(within[0] <= t <= within[1] for t in steps_s)
        result.append(Phase(change[0], begin_s, end_s, entered, active, ended, stepped))
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
    step_s = window_s / LOOKS_PER_WINDOW
    looks = int((phase.end_s - phase.begin_s - window_s) / step_s + 1e-9) + 1  # W
    begins = phase.begin_s + step_s * np.arange(looks, dtype=np.float64)  # (W,)
    rates = _throughput_mbps(flow, begins, window_s)  # (W,)
    fair = capacity.between(begins, begins + window_s) / window_s / len(phase.active)  # (W,)
    # all windows that begin and end within the hold
    needed = LOOKS_PER_WINDOW * (WINDOWS_PER_HOLD - 1) + 1
    held = _runs_of(np.abs(rates - fair) <= BAND * fair, needed)
    if not held.any():
        return Convergence(index, kind, phase.end_s - since_s, False, math.nan)
    at_s = float(begins[np.argmax(held)])
    windows = int((phase.end_s - at_s) / window_s + 1e-9)
    after = _throughput_mbps(flow, at_s + window_s * np.arange(windows, dtype=np.float64), window_s)
    return Convergence(index, kind, at_s - since_s, True, float(after.std(ddof=1)))


def _throughput_mbps(flow: FlowResult, begins_s: Floats, window_s: float) -> Floats:
    """Return the receiver's throughput in the windows that begin at these times, Mbit/s, shape (W,)."""
    t_s = np.concatenate([[flow.start_s], flow.receiver["t_s"]])
    received = np.concatenate([[0.0], flow.receiver["bytes"]])
    gained = np.interp(begins_s + window_s, t_s, received) - np.interp(begins_s, t_s, received)
    rates: Floats = gained * 8 / BITS_PER_MBIT / window_s
    return rates


def _runs_of(good: np.ndarray, needed: int) -> np.ndarray:
    """Return where a run of `needed` true values begins, shape that of good."""
    before = np.concatenate([[0], np.cumsum(good)])
    begins = np.zeros(len(good), dtype=bool)
    if len(good) >= needed:
        begins[: len(good) - needed + 1] = before[needed:] - before[:-needed] == needed
    return begins


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else math.nan
