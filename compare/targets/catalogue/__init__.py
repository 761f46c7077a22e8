"""The targets of the shipped model, as configs/targets.yaml has them: scenarios, compared schemes and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import filter as matching
from typing import Any

import yaml

from compare.targets import reach
from compare.targets.catalogue.development import DEVELOPMENT_NAMES, development_scenarios
from compare.targets.catalogue.held_out import fresh_scenarios, held_out_scenarios
from compare.targets.catalogue.undominated import Undominated
from compare.targets.catalogue.winning import COUNTS, HighestRate, InMostScenarios
from compare.targets.evidence import Figure
from compare.targets.figures import FIGURES, metric
from compare.targets.requirement import (
    Bound,
    BoundOf,
    InEachScenario,
    Requirement,
    at_least,
    at_most,
    best_peer,
    between,
    but_within_reach,
    not_worst,
    of_reference,
)
from compare.targets.target import Target
from env.checkout import CONFIGS
from env.errors import UserError, suggest
from env.network.scenario import Scenario, load_scenario, scenarios_named

ALL = "all"
FILE = CONFIGS / "targets.yaml"
DRAWN: dict[str, Callable[[], tuple[Scenario, ...]]] = {
    "held_out": held_out_scenarios,
    "fresh": fresh_scenarios,
    "development": development_scenarios,
}
# the `or` of a requirement: a second bound. The easier one of the two decides
ENOUGH: dict[str, reach.Reach] = {
    "three packets": reach.three_packets_ms,
    "slow start": lambda scenario: 1.5 * reach.idle_pct(scenario),
}


def find_targets(names: str | Sequence[str]) -> list[Target]:
    """Return the targets of these names, in the order of TARGETS; raises UserError without or for unknown names."""
    wanted = [names] if isinstance(names, str) else list(names)
    if ALL in wanted:
        wanted = [*wanted, *(target.name for target in TARGETS.values() if target.in_all)]
    for name in wanted:
        if name not in (*TARGETS, ALL):
            hint = suggest(name, [*TARGETS, ALL], limit=1)
            raise UserError(f"target {name!r} is unknown{hint}The targets are {', '.join(TARGETS)}, and {ALL}")
    if not wanted:
        raise UserError(f"targets is empty; choose from {', '.join(TARGETS)}, and {ALL}")
    return [target for target in TARGETS.values() if target.name in wanted]


def _target(
    name: str,
    title: str,
    scenarios: str | list[str | list[str]],
    requirements: Mapping[str, Any],
    references: Sequence[str] = (),
    **options: Any,
) -> Target:
    """Return a target of the file. options: other fields of Target."""
    if isinstance(scenarios, str):
        names = DEVELOPMENT_NAMES if scenarios == "development" else []
        make = DRAWN[scenarios]
    else:
        listed = [one for part in scenarios for one in ([part] if isinstance(part, str) else part)]
        names = [name for one in listed for name in scenarios_named(one)]

        def make() -> tuple[Scenario, ...]:
            return tuple(map(load_scenario, names))

    asked = tuple(_requirement(key, names, **one) for key, one in requirements.items())
    draw = fresh_scenarios if scenarios == "fresh" else None
    return Target(name, title, make, tuple(references), asked, draw=draw, **options)


def _requirement(name: str, names: Sequence[str], *, text: str, **asked: Any) -> Requirement:
    """Return a requirement of the file. names: of the target's scenarios."""
    if "more" in asked:
        (scenario,) = names
        return Undominated(name, text, scenario, tuple(asked["more"]), tuple(asked["less"]))
    if "highest_rate" in asked:
        counts, least_pct = COUNTS[asked.get("counts", "all")], asked.get("least_pct", 0.0)
        return HighestRate(name, text, asked["highest_rate"], asked["label"], counts, least_pct)
    if "in_most" in asked:
        figure, within = FIGURES[asked["in_most"]], Bound(low=asked["at_least"])
        return InMostScenarios(name, text, asked["label"], COUNTS[asked["counts"]], figure, within, asked["least_pct"])
    scenarios = tuple(found for one in asked.get("scenarios", names) for found in matching(names, one))
    figure = FIGURES.get(asked["figure"]) or metric(asked["figure"])
    bound = _bound(figure, asked)
    if "or" in asked:
        bound = but_within_reach(bound, ENOUGH[asked["or"]], asked["or"])
    return InEachScenario(name, text, asked.get("unit", ""), scenarios, figure, bound, reach.named(asked["best"]))


def _bound(figure: Figure, asked: Mapping[str, Any]) -> BoundOf:
    """Return the bound of a requirement: numbers, or what other schemes have in the same scenario."""
    if "between" in asked:
        return between(*asked["between"])
    (side,) = {"at_least", "at_most", "below"} & asked.keys()
    bound, least = asked[side], side == "at_least"
    if not isinstance(bound, dict):
        return at_least(bound) if least else at_most(bound)
    of, times = bound["of"], bound.get("times", 1)
    if of == "peers":
        return best_peer(figure)
    if isinstance(of, list):
        return not_worst(figure, of, factor=times, more_is_better=least)
    return of_reference(figure, of, **{"least" if least else "most": times}, strict=side == "below")


TARGETS = {name: _target(name, **content) for name, content in yaml.load(FILE.read_text(), yaml.CSafeLoader).items()}
