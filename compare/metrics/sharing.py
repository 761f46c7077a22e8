"""How bulk flows share a path: their fair shares, how far they are from them, how long it takes to get there.

Convergence is measured as PCC Vivace measures it (Dong et al., NSDI 2018, section 4.2): from a flow's entry to the
earliest time after which it stays within 25 % of its ideal fair share for at least 5 s; stability is the standard
deviation of its throughput from then on. The same is measured after another flow's end and after a step of the rate, of
every flow under test that is there. The ideal share is what the path can carry by the number of its flows.

Between two changes there may be less than 20 s: then a quarter of that time stands for the 5 s, and less than 2 s are
not looked at. Throughput is taken over a fifth of it (1 s). Changes that follow each other within a second (the stagger
of a scenario) are one. A flow that does not converge before the next change counts with all the time that it had, and
`converged` says how often that was not so.

Letters of shapes: W windows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compare.metrics.metrics import BITS_PER_MBIT, Floats, Metric
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
    """Return the metrics of how bulk flows share a router path, NaN where there is nothing to compute one from.

    Empty for other scenarios: other traffic does not want its share, and a loopback path or a rack has no link that all
    share.
    """
    path = scenario.network()
    if not isinstance(path, Path) or path.topology != "router" or {flow.kind for flow in scenario.flows} != {"bulk"}:
        return {}
    capacity = network_capacity(path, scenario.duration_s)
    under_test = [flow["scheme"] == UNDER_TEST for flow in scenario.flows_with(UNDER_TEST)]
    tested = [i for i, mine in enumerate(under_test) if mine]
    found = _of_shares(flows, scenario, capacity, tested)
    measured = [one for one in convergences(flows, path, capacity) if one.flow in tested]
    found[CONVERGENCE] = _mean([one.seconds for one in measured if one.kind == "entry"])
    if any(flow.duration_s and flow.start_s + flow.duration_s < scenario.duration_s for flow in scenario.flows):
        found[AFTER_END] = _mean([one.seconds for one in measured if one.kind == "end"])
    if any(step.rate_mbps is not None for step in path.steps):
        found[AFTER_STEP] = _mean([one.seconds for one in measured if one.kind == "step"])
    found[CONVERGED] = 100 * _mean([float(one.converged) for one in measured])
    found[STABILITY] = _mean([one.deviation_mbps for one in measured])
    return found


def _of_shares(
    flows: Sequence[FlowResult], scenario: Scenario, capacity: Capacity, tested: Sequence[int]
) -> dict[Metric, float]:
    others = sorted({flow.scheme for flow in scenario.flows} - {UNDER_TEST})
    if not others:
        return {}
    fair = fair_shares_mbps(flows, capacity)
    goodput = [flow.received_bytes * 8 / BITS_PER_MBIT / flow.duration_s for flow in flows]
    fair_mean = _mean([fair[i] for i in tested])
    share = _mean([goodput[i] for i in tested]) / fair_mean if fair_mean else math.nan
    return {share_metric("+".join(others)): share, GAP: _mean([abs(fair[i] - goodput[i]) for i in tested])}


def fair_shares_mbps(flows: Sequence[FlowResult], capacity: Capacity) -> list[float]:
    """Return each flow's fair share, Mbit/s of payload: at any time the capacity by the number of flows there."""
    spans = [_span(flow) for flow in flows]
    edges = sorted({edge for span in spans for edge in span})
    shares = [0.0] * len(flows)
    for begin_s, end_s in itertools.pairwise(edges):
        there = [i for i, (start_s, stop_s) in enumerate(spans) if start_s <= begin_s and end_s <= stop_s]
        for i in there:
            shares[i] += float(capacity.between(begin_s, end_s)) / len(there)
    return [share / (stop_s - start_s) for share, (start_s, stop_s) in zip(shares, spans, strict=True)]


def _span(flow: FlowResult) -> tuple[float, float]:
    # rounded: flows that end with their run end in the same microsecond
    start_s = flow.start_s
    return round(start_s, 6), round(start_s + flow.duration_s, 6)


@dataclass(frozen=True)
class Phase:
    """The time between two changes. entered: flows that began with it; there: all flows. ended, stepped: why it began.

    change_s: when the change was; begin_s: when the last of several that count as one was.
    """

    change_s: float
    begin_s: float
    end_s: float
    entered: tuple[int, ...]
    there: tuple[int, ...]
    ended: bool
    stepped: bool


@dataclass(frozen=True)
class Convergence:
    """Of one flow after one change. kind: entry, end or step. seconds: all that there were when it did not converge.

    deviation_mbps: of its throughput after that; NaN when it did not converge.
    """

    flow: int
    kind: str
    seconds: float
    converged: bool
    deviation_mbps: float


def phases(flows: Sequence[FlowResult], path: Path) -> list[Phase]:
    """Return the times between the changes of who is there and of the rate, in their order."""
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
    found = []
    for i, change in enumerate(changes):
        begin_s, end_s = change[-1], changes[i + 1][0] if i + 1 < len(changes) else last_s
        within = (change[0], change[-1])
        there = tuple(k for k, (start_s, stop_s) in enumerate(spans) if start_s <= begin_s and stop_s >= end_s)
        entered = tuple(k for k in there if within[0] <= spans[k][0] <= within[1])
        ended = any(within[0] <= stop_s <= within[1] for _, stop_s in spans)
        stepped = any(within[0] <= t <= within[1] for t in steps_s)
        found.append(Phase(change[0], begin_s, end_s, entered, there, ended, stepped))
    return found


def convergences(flows: Sequence[FlowResult], path: Path, capacity: Capacity) -> list[Convergence]:
    """Return how every flow converged after its own entry, others' ends and steps of the rate."""
    found = []
    for phase in phases(flows, path):
        if phase.end_s - phase.begin_s < SHORTEST_PHASE_S:
            continue
        for i in phase.there:
            if i in phase.entered:
                kind, since_s = "entry", _span(flows[i])[0]
            elif phase.ended or phase.stepped:
                kind, since_s = "step" if phase.stepped else "end", phase.change_s
            else:
                continue  # another flow has entered: that one is to find its share
            found.append(_converge(flows[i], i, kind, since_s, phase, capacity))
    return found


def _converge(flow: FlowResult, index: int, kind: str, since_s: float, phase: Phase, capacity: Capacity) -> Convergence:
    hold_s = min(HOLD_S, SHORT_HOLD * (phase.end_s - phase.begin_s))
    window_s = hold_s / WINDOWS_PER_HOLD
    step_s = window_s / LOOKS_PER_WINDOW
    looks = int((phase.end_s - phase.begin_s - window_s) / step_s + 1e-9) + 1  # W
    begins = phase.begin_s + step_s * np.arange(looks, dtype=np.float64)  # (W,)
    rates = _throughput_mbps(flow, begins, window_s)  # (W,)
    fair = capacity.between(begins, begins + window_s) / window_s / len(phase.there)  # (W,)
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
    """Return what the receiver got in the windows that begin so, Mbit/s, shape (W,)."""
    t_s = np.concatenate([[flow.start_s], flow.receiver["t_s"]])
    received = np.concatenate([[0.0], flow.receiver["bytes"]])
    gained = np.interp(begins_s + window_s, t_s, received) - np.interp(begins_s, t_s, received)
    rates: Floats = gained * 8 / BITS_PER_MBIT / window_s
    return rates


def _runs_of(good: np.ndarray, needed: int) -> np.ndarray:
    """Return where `needed` values in a row, from this one on, are true; shape that of good."""
    before = np.concatenate([[0], np.cumsum(good)])
    found = np.zeros(len(good), dtype=bool)
    if len(good) >= needed:
        found[: len(good) - needed + 1] = before[needed:] - before[:-needed] == needed
    return found


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else math.nan
