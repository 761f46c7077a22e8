"""The target `fresh`: held-out scenarios that the judged model draws itself.

The SHA-256 of the model's weights is the seed of the draw. Whoever tunes a model on its scenarios gets another model,
and with it other scenarios: none can be tuned to.
"""

from __future__ import annotations

from collections.abc import Callable

from compare.targets.catalogue.held_out import held_out_scenarios
from compare.targets.catalogue.winning import LEFT, HighestRate
from compare.targets.target import Target
from env.network.scenario import Scenario

LEAST_PCT = 85  # of the scenarios with one flow


def fresh_scenarios(seed: int = 0) -> tuple[Scenario, ...]:
    """Return the scenarios of a seed, named fresh/alone_001 and so on; 0 is the seed of no model."""
    return held_out_scenarios(seed=seed, folder="fresh")


def kind_of(scenario: Scenario) -> str:
    """Return the kind of a path: traced, lossy, jittery or clean."""
    path = scenario.network_path()
    if path.trace:
        return "traced"
    return "lossy" if path.loss_pct else "jittery" if path.jitter_ms else "clean"


def _of_kind(kind: str) -> Callable[[Scenario], bool]:
    return lambda scenario: kind_of(scenario) == kind


def _beside(rival: str) -> Callable[[Scenario], bool]:
    return lambda scenario: any(flow.scheme == rival for flow in scenario.flows)


FRESH = Target(
    "fresh",
    "Winning rates in held-out scenarios that the judged model draws",
    fresh_scenarios,
    (),
    (
        HighestRate(
            "single",
            f"highest winning rate, one flow, and at least {LEAST_PCT} %",
            lambda rates: rates.single_flow,
            "scenarios of one flow",
            least_pct=LEAST_PCT,
        ),
        *(
            HighestRate(
                kind,
                f"the highest on {kind} paths",
                lambda rates: rates.single_flow,
                f"scenarios of one flow, {kind}",
                counts=_of_kind(kind),
            )
            for kind in ("clean", "lossy", "jittery", "traced")
        ),
        HighestRate(
            "friendliness",
            "highest winning rate, friendliness",
            lambda rates: rates.friendliness,
            "scenarios with a competing flow",
        ),
        *(
            HighestRate(
                f"beside_{rival}",
                f"the highest beside {rival}",
                lambda rates: rates.friendliness,
                f"scenarios beside {rival}",
                counts=_beside(rival),
            )
            for rival in ("cubic", "reno", "bbr")
        ),
        *LEFT,
    ),
    max_seeds=1,
    reported=False,
    draw=fresh_scenarios,
)
