"""The scenarios of the target `development`, which are free for tuning.

One seed draws their paths from the ranges that profiles train on, outside of the held-out bands
(env/profile/held_out.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from compare.targets.catalogue.held_out import MAX_PACKETS, duration_of, log_uniform, packets_of
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
DEVELOPMENT_NAMES = [f"development/{kind}_{i + 1:02d}" for kind, number in NUMBERS.items() for i in range(number)]


def development_scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios of all kinds of NUMBERS, with the names of DEVELOPMENT_NAMES."""
    make: dict[str, Callable[[np.random.Generator, int], Scenario]] = {
        "clean": lambda rng, _: _alone(_path(CLEAN, rng)),
        "lossy": lambda rng, _: _alone(_path(LOSSY, rng)),
        "own": lambda rng, _: _together(_path(SHARED, rng), [Flow(count=4)], stagger_ms=1000.0),
        "beside": lambda rng, i: _together(_path(SHARED, rng), [Flow(), Flow(scheme=COMPETING[i % len(COMPETING)])]),
        "shallow": lambda rng, i: _together(_path(SHALLOW, rng), [Flow(), Flow(scheme=COMPETING[i % 2])]),
        "faster": lambda rng, _: _stepped(_path(SHARED, rng), log_uniform(FACTOR, rng)),
        "slower": lambda rng, _: _stepped(_path(SHARED, rng), 1 / log_uniform(FACTOR, rng)),
    }
    scenarios: list[Scenario] = []
    for part, (kind, number) in enumerate(NUMBERS.items()):
        rng = np.random.default_rng([SEED, part])
        for i in range(number):
            scenario = make[kind](rng, i)
            scenario.name = DEVELOPMENT_NAMES[len(scenarios)]
            check_scenario(scenario)
            scenarios.append(scenario)
    return tuple(scenarios)


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
