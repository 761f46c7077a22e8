"""The target `development`: what the other targets ask for, on paths that are free for tuning.

A scheme that was tuned on a scenario meets it, so the other targets are for the end. One seed draws the paths of this
one from the ranges that profiles train on, outside of the held-out bands (env/profile/held_out.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from compare.targets import reach
from compare.targets.catalogue.held_out import MAX_PACKETS, duration_of, log_uniform, packets_of
from compare.targets.figures import (
    competing_share,
    idle,
    metric,
    own_share,
    per_run,
    single_flow,
    uneven,
    unused,
)
from compare.targets.requirement import InEachScenario, at_least, at_most, between, but_within_reach, of_reference
from compare.targets.response import round_trips_to_drain, round_trips_to_use
from compare.targets.target import Target
from env.network.path import Path
from env.network.scenario import Flow, Scenario, check_scenario
from env.profile.held_out import outside_bands

SEED = 20261125  # of the draw
Range = tuple[float, float]

CLEAN: dict[str, Range] = {"rate_mbps": (1, 200), "rtt_ms": (10, 300), "buffer_bdp": (0.5, 8)}
LOSSY = CLEAN | {"rate_mbps": (1, 100), "loss_pct": (0.05, 2)}
SHARED = {"rate_mbps": (4, 60), "rtt_ms": (10, 150), "buffer_bdp": (1, 8)}
SHALLOW = SHARED | {"buffer_bdp": (0.1, 0.4)}
FACTOR: Range = (2, 8)  # of a step of the rate
COMPETING = ("cubic", "reno", "cubic", "bbr")  # in turn
NUMBERS = {"clean": 10, "lossy": 6, "own": 6, "beside": 12, "shallow": 4, "faster": 5, "slower": 5}


def development_scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios of all kinds of NUMBERS, named development/KIND_01 and so on."""
    make: dict[str, Callable[[np.random.Generator, int], Scenario]] = {
        "clean": lambda rng, _: _alone(_path(CLEAN, rng)),
        "lossy": lambda rng, _: _alone(_path(LOSSY, rng)),
        "own": lambda rng, _: _together(_path(SHARED, rng), [Flow(count=4)], stagger_ms=1000.0),
        "beside": lambda rng, i: _together(_path(SHARED, rng), [Flow(), Flow(scheme=COMPETING[i % len(COMPETING)])]),
        "shallow": lambda rng, i: _together(_path(SHALLOW, rng), [Flow(), Flow(scheme=COMPETING[i % 2])]),
        "faster": lambda rng, _: _stepped(_path(SHARED, rng), log_uniform(FACTOR, rng)),
        "slower": lambda rng, _: _stepped(_path(SHARED, rng), 1 / log_uniform(FACTOR, rng)),
    }
    scenarios = []
    for part, (kind, number) in enumerate(NUMBERS.items()):
        rng = np.random.default_rng([SEED, part])
        for i in range(number):
            scenario = make[kind](rng, i)
            scenario.name = f"development/{kind}_{i + 1:02d}"
            check_scenario(scenario)
            scenarios.append(scenario)
    return tuple(scenarios)


def of_kind(*kinds: str) -> tuple[str, ...]:
    """Return the names of the scenarios of some kinds."""
    return tuple(f"development/{kind}_{i + 1:02d}" for kind in kinds for i in range(NUMBERS[kind]))


def _path(ranges: Mapping[str, Range], rng: np.random.Generator) -> dict[str, Any]:
    while True:
        path = {name: outside_bands(name, partial(_rounded, limits, rng)) for name, limits in ranges.items()}
        if packets_of(Path.from_dict(path)) <= MAX_PACKETS:
            return path


def _rounded(limits: Range, rng: np.random.Generator) -> float:
    """Return a number of three digits, which may lie in a band that the drawn number is outside of."""
    return float(f"{log_uniform(limits, rng):.3g}")


def _alone(path: dict[str, Any]) -> Scenario:
    duration_s = duration_of(path["rtt_ms"], 100, (12.0, 30.0))
    return Scenario("", "A flow alone uses the link", duration_s, path=path, stagger_ms=200.0)


def _together(path: dict[str, Any], flows: Sequence[Flow], stagger_ms: float = 500.0) -> Scenario:
    duration_s = duration_of(path["rtt_ms"], 300, (20.0, 60.0))
    return Scenario("", "Flows share a link", duration_s, path=path, stagger_ms=stagger_ms, flows=list(flows))


def _stepped(path: dict[str, Any], factor: float) -> Scenario:
    duration_s = duration_of(path["rtt_ms"], 150, (20.0, 40.0))
    step = {"at_s": duration_s / 2, "rate_mbps": float(f"{path['rate_mbps'] * factor:.3g}")}
    claim = "A step of the rate is followed"
    return Scenario("", claim, duration_s, path=path | {"steps": [step]}, stagger_ms=200.0)


def _slow_start_pct(scenario: Scenario) -> float:
    return 1.5 * reach.idle_pct(scenario)


queueing, per_mb = metric("queueing_p95"), metric("retransmits_per_mb")

DEVELOPMENT = Target(
    "development",
    "The same on paths that are free for tuning",
    development_scenarios,
    ("cubic", "bbr"),
    (
        InEachScenario(
            "idle",
            "link idle at most 5 %, or 1.5 times what the fastest slow start leaves idle",
            "%",
            of_kind("clean"),
            idle,
            but_within_reach(at_most(5), _slow_start_pct, "slow start"),
            reach.idle_pct,
        ),
        InEachScenario(
            "queueing",
            "p95 queueing delay at most a quarter of Cubic's, or three packet times",
            "ms",
            of_kind("clean"),
            queueing,
            but_within_reach(of_reference(queueing, "cubic", most=0.25), reach.three_packets_ms, "three packets"),
            reach.one_packet_ms,
        ),
        InEachScenario(
            "single",
            "goodput^2 over mean RTT at least 1.1 times BBR's",
            "Mbit^2/s^2/ms",
            of_kind("clean", "lossy"),
            single_flow,
            of_reference(single_flow, "bbr", least=1.1),
            reach.single_flow,
        ),
        InEachScenario(
            "unused",
            "at most 10 % unused of what loss leaves",
            "%",
            of_kind("lossy"),
            unused,
            at_most(10),
            reach.idle_pct,
        ),
        InEachScenario(
            "uneven",
            "four own flows: 1 - Jain index at most 0.05 from 20 to 40 round trips after the last start",
            "",
            of_kind("own"),
            per_run(uneven),
            at_most(0.05),
            reach.always(0),
        ),
        InEachScenario(
            "own_losses",
            "four own flows: at most 1 retransmission per MB",
            "1/MB",
            of_kind("own"),
            per_mb,
            at_most(1),
            reach.always(0),
        ),
        InEachScenario(
            "share",
            "beside another scheme: 0.7 to 1.3 of the fair share",
            "",
            of_kind("beside"),
            per_run(own_share),
            between(0.7, 1.3),
            reach.always(1),
        ),
        InEachScenario(
            "left",
            "the competing flow has at least half of its fair share",
            "",
            of_kind("beside", "shallow"),
            per_run(competing_share),
            at_least(0.5),
            reach.left_to_others,
        ),
        InEachScenario(
            "up",
            "95 % of the rate used within 6 round trips of an increase",
            "round trips",
            of_kind("faster"),
            per_run(round_trips_to_use),
            at_most(6),
            reach.round_trips_to_use,
        ),
        InEachScenario(
            "down",
            "queue drained within 4 round trips of a decrease",
            "round trips",
            of_kind("slower"),
            per_run(round_trips_to_drain),
            at_most(4),
            reach.round_trips_to_drain,
        ),
    ),
    sample_ms=10,
    reported=False,
    scored=True,
)
