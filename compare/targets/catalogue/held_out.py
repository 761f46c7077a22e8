"""The scenarios of the winning rates: fixed draws from paths that training never sees (env/profile/held_out.py).

Rate, RTT and buffer are drawn from their held-out bands. Some single flows have random loss, some have jitter, and some
have a link that follows a held-out trace. In half of the scenarios with a competing flow, that flow is Cubic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from env.network.path import PACKET_BYTES, Path
from env.network.scenario import Flow, Scenario, check_scenario
from env.network.traces.format import trace_names
from env.profile import with_jitter
from env.profile.held_out import BANDED, TRACES, draw_in_band

SEED = 20260622  # of the draw; another seed gives another set of scenarios
SINGLES = 200
PAIRS = 100
KINDS = {"clean": 0.6, "lossy": 0.2, "jittery": 0.1, "traced": 0.1}  # probability of each kind of single flow
LOSS_PCT = (0.05, 2.0)  # log-uniform
JITTER_RATIO = (0.05, 0.5)  # standard deviation over one-way delay, log-uniform
COMPETING = {"cubic": 0.5, "reno": 0.25, "bbr": 0.25}  # probability of each competing scheme
# Limit for path and buffer: for each SACK the kernel goes through all packets in flight, and with some ten thousand
# of them a virtual minute takes many minutes.
MAX_PACKETS = 15_000
# Round trips in which a single flow reaches its rate; two flows that share a link need more.
ROUND_TRIPS_SINGLE, ROUND_TRIPS_PAIR = 100, 200
SINGLE_S, PAIR_S = (12.0, 30.0), (20.0, 60.0)


def held_out_scenarios(
    singles: int = SINGLES, pairs: int = PAIRS, seed: int = SEED, folder: str = "held_out"
) -> tuple[Scenario, ...]:
    """Return scenarios of a single flow, then scenarios of a flow and a competing one.

    A smaller number gives the first scenarios of a larger one. seed: of the draw. folder: of the scenarios' names.
    """
    of_singles, of_pairs = (np.random.default_rng([seed, part]) for part in (0, 1))
    scenarios = [_single(number, of_singles, seed) for number in range(1, singles + 1)]
    scenarios += [_pair(number, of_pairs, seed) for number in range(1, pairs + 1)]
    for scenario in scenarios:
        scenario.name = f"{folder}/{scenario.name}"
        check_scenario(scenario)
    return tuple(scenarios)


def fresh_scenarios(seed: int = 0) -> tuple[Scenario, ...]:
    """Return the scenarios that a model draws, named fresh/alone_001 and so on. seed: the SHA-256 of its weights.

    Whoever tunes a model on its scenarios gets another model, and with it other scenarios: none can be tuned to.
    """
    return held_out_scenarios(seed=seed, folder="fresh")


def _single(number: int, rng: np.random.Generator, seed: int) -> Scenario:
    kind = _choice(KINDS, rng)
    path = _drawn_path(rng)
    if kind == "traced":
        traces = [trace for trace in trace_names() if trace.startswith(TRACES)]
        path = {"trace": traces[int(rng.integers(len(traces)))]} | {k: v for k, v in path.items() if k != "rate_mbps"}
    path = _limited(path, [seed, 0, number])
    if kind == "lossy":
        path["loss_pct"] = float(f"{log_uniform(LOSS_PCT, rng):.3g}")
    elif kind == "jittery":
        jittery = with_jitter(Path(**path), log_uniform(JITTER_RATIO, rng))
        path |= {"jitter_ms": jittery.jitter_ms, "reference_rtt_ms": jittery.reference_rtt_ms}
    duration_s = duration_of(path["rtt_ms"], ROUND_TRIPS_SINGLE, SINGLE_S)
    return Scenario(
        f"alone_{number:03d}", f"A {kind} path that no training saw", duration_s, path=path, stagger_ms=200.0
    )


def _pair(number: int, rng: np.random.Generator, seed: int) -> Scenario:
    scheme = _choice(COMPETING, rng)
    path = _limited(_drawn_path(rng), [seed, 1, number])
    duration_s = duration_of(path["rtt_ms"], ROUND_TRIPS_PAIR, PAIR_S)
    claim = f"Beside {scheme} on a path that no training saw each flow has half of the link"
    name = f"beside_{number:03d}"
    return Scenario(name, claim, duration_s, path=path, stagger_ms=500.0, flows=[Flow(), Flow(scheme=scheme)])


def _drawn_path(rng: np.random.Generator) -> dict[str, Any]:
    # three digits, like the ends of the bands, so that a rounded value stays within its band
    return {name: float(f"{draw_in_band(name, rng):.3g}") for name in BANDED}


def _limited(path: dict[str, Any], seed: Sequence[int]) -> dict[str, Any]:
    """Return the path, drawn again until it holds at most MAX_PACKETS.

    The path has a random generator of its own, so the other paths stay the same.
    """
    attempt = 0
    while packets_of(Path(**path)) > MAX_PACKETS:
        attempt += 1
        redrawn = _drawn_path(np.random.default_rng([*seed, attempt]))
        path = path | {name: value for name, value in redrawn.items() if name in path}
    return path


def packets_of(path: Path) -> float:
    """Return the number of packets that path and buffer hold."""
    return path.bdp_bytes / PACKET_BYTES + path.buffer_packets


def duration_of(rtt_ms: float, round_trips: int, limits: Sequence[float]) -> float:
    """Return the whole seconds that this many round trips of an empty path take, within limits."""
    return float(math.ceil(min(max(round_trips * rtt_ms / 1e3, limits[0]), limits[1])))


def _choice(probabilities: dict[str, float], rng: np.random.Generator) -> str:
    return str(rng.choice(list(probabilities), p=list(probabilities.values())))


def log_uniform(limits: Sequence[float], rng: np.random.Generator) -> float:
    """Return a number between two limits whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(limits[0]), math.log(limits[1])))
