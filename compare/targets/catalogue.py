"""The seven targets of the shipped model: scenarios, what is compared with what, and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compare.errors import CompareError
from compare.targets.figures import metric, of_runs, share_of_rival, used_of_what_is_left
from compare.targets.held_out import held_out_scenarios
from compare.targets.requirement import InEachScenario, Requirement, at_least, at_most, best_peer, between, of_reference
from compare.targets.response import jain_from_then_on, jain_when_settled, round_trips_to_drain, round_trips_to_use
from compare.targets.winning import HighestRate
from env.near import did_you_mean
from env.network.scenario import Scenario, load_scenario, scenarios_named
from env.network.schemes import ORACLE

ALL = "all"


@dataclass(frozen=True)
class Target:
    """A set of scenarios and its requirements.

    make: returns the scenarios. references: schemes that are always measured, as sources of bounds or for comparison.
    sample_ms: the longest time between two samples. most_seeds: the largest number of seeds, for targets with many
    scenarios. reported: whether it has a report with a page for each scenario.
    """

    name: str
    title: str
    make: Callable[[], tuple[Scenario, ...]]
    references: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    sample_ms: int = 50
    most_seeds: int | None = None
    reported: bool = True


def _named(*names: str) -> Callable[[], tuple[Scenario, ...]]:
    return lambda: tuple(load_scenario(name) for name in names)


DELAY = ("delay_extreme", "delay_moderate")
PUBLISHED = ("stress", *DELAY, "fiber")
BUFFERS = tuple(scenarios_named("buffers"))
LOSS = ("loss/0_1pct", "loss/0_5pct", "loss/1pct", "loss/2pct", "loss/1pct_fast", "loss/2pct_far")
SAME = ("compete/same_4", "compete/joining_4")
BESIDE_CUBIC = ("compete/cubic_1v1", "compete/cubic_1v1_4bdp")
UP = ("change/rate_up", "change/rate_steps")
DOWN = ("change/rate_down", "change/rate_steps")
TRACES = ("access/lte", "access/lte_train", "access/5g")
REQUESTS = ("compete/requests", "compete/requests_of_cubic")

goodput, per_mb, utilisation = metric("goodput"), metric("retransmits_per_mb"), metric("utilisation")
queueing, power, p99 = metric("queueing_p95"), metric("power"), metric("p99_latency")

TARGETS = {
    target.name: target
    for target in (
        Target(
            "published",
            "The four published tests",
            _named(*PUBLISHED),
            (ORACLE, "bbr", "reno"),
            (
                InEachScenario(
                    "goodput", "goodput at least the best peer's", "Mbit/s", PUBLISHED, goodput, best_peer(goodput)
                ),
                InEachScenario(
                    "over_bbr",
                    "goodput at least 1.25 times BBR's",
                    "Mbit/s",
                    DELAY,
                    goodput,
                    of_reference(goodput, "bbr", least=1.25),
                ),
                InEachScenario(
                    "window",
                    "goodput at least 95 % of the best constant window's",
                    "Mbit/s",
                    (*DELAY, "fiber"),
                    goodput,
                    of_reference(goodput, ORACLE, least=0.95),
                ),
                InEachScenario(
                    "retransmits",
                    "fewer retransmissions per MB than BBR",
                    "1/MB",
                    DELAY,
                    per_mb,
                    of_reference(per_mb, "bbr", most=1, strict=True),
                ),
                InEachScenario(
                    "stress",
                    "no more retransmissions per MB than Reno",
                    "1/MB",
                    ("stress",),
                    per_mb,
                    of_reference(per_mb, "reno", most=1),
                ),
            ),
        ),
        Target(
            "buffers",
            "Buffers of 0.5 to 8 BDP without random loss, 1 to 200 Mbit/s, 10 to 300 ms",
            _named(*BUFFERS),
            ("cubic",),
            (
                InEachScenario("utilisation", "utilisation at least 95 %", "%", BUFFERS, utilisation, at_least(95)),
                InEachScenario(
                    "queueing",
                    "p95 queueing delay at most a quarter of Cubic's",
                    "ms",
                    BUFFERS,
                    queueing,
                    of_reference(queueing, "cubic", most=0.25),
                ),
            ),
        ),
        Target(
            "loss",
            "Random loss up to 2 %",
            _named(*LOSS),
            ("cubic", "reno"),
            (
                InEachScenario(
                    "used",
                    "at least 90 % of what the loss leaves of the link",
                    "%",
                    LOSS,
                    used_of_what_is_left,
                    at_least(90),
                ),
            ),
        ),
        Target(
            "fairness",
            "Fairness among its own flows and beside Cubic",
            _named(*SAME, "compete/rtt_1v4", *BESIDE_CUBIC),
            (),
            (
                InEachScenario(
                    "own",
                    "four of its own: Jain index at least 0.95 within 20 round trips of the last start",
                    "",
                    SAME,
                    of_runs(jain_when_settled),
                    at_least(0.95),
                ),
                InEachScenario(
                    "own_later",
                    "four of its own: Jain index at least 0.95 from then on",
                    "",
                    SAME,
                    of_runs(jain_from_then_on),
                    at_least(0.95),
                ),
                InEachScenario(
                    "rtt", "RTTs 1:4: Jain index at least 0.8", "", ("compete/rtt_1v4",), metric("jain"), at_least(0.8)
                ),
                InEachScenario(
                    "beside_cubic",
                    "beside Cubic: 0.5 to 1.5 of its fair share",
                    "",
                    BESIDE_CUBIC,
                    metric("share_cubic"),
                    between(0.5, 1.5),
                ),
                InEachScenario(
                    "left_to_cubic",
                    "beside Cubic: Cubic has 0.5 to 1.5 of its own",
                    "",
                    BESIDE_CUBIC,
                    of_runs(share_of_rival),
                    between(0.5, 1.5),
                ),
            ),
            sample_ms=20,
        ),
        Target(
            "changes",
            "Steps of the rate, and LTE and 5G traces held out from training",
            _named("change/rate_up", "change/rate_down", "change/rate_steps", *TRACES),
            ("bbr",),
            (
                InEachScenario(
                    "up",
                    "95 % of the rate used within 5 round trips of an increase",
                    "round trips",
                    UP,
                    of_runs(round_trips_to_use),
                    at_most(5),
                ),
                InEachScenario(
                    "down",
                    "queue drained within 5 round trips of a decrease",
                    "round trips",
                    DOWN,
                    of_runs(round_trips_to_drain),
                    at_most(5),
                ),
                InEachScenario(
                    "power",
                    "on the traces at least BBR's power",
                    "Mbit/s/ms",
                    TRACES,
                    power,
                    of_reference(power, "bbr", least=1),
                ),
            ),
            sample_ms=10,
        ),
        Target(
            "short_flows",
            "10 KB requests beside an elephant",
            _named(*REQUESTS),
            ("cubic",),
            (
                InEachScenario(
                    "p99",
                    "the requests' p99 latency at most half of that beside Cubic",
                    "us",
                    REQUESTS,
                    p99,
                    of_reference(p99, "cubic", most=0.5),
                ),
            ),
        ),
        Target(
            "winning",
            "Winning rates in scenarios drawn from ranges held out from training",
            held_out_scenarios,
            (),
            (
                HighestRate(
                    "single", "highest winning rate, one flow", lambda rates: rates.single_flow, "scenarios of one flow"
                ),
                HighestRate(
                    "friendliness",
                    "highest winning rate, friendliness",
                    lambda rates: rates.friendliness,
                    "scenarios beside another flow",
                ),
            ),
            most_seeds=1,
            reported=False,
        ),
    )
}


def find_targets(names: str | Sequence[str]) -> list[Target]:
    """Return the targets of these names, in the order of TARGETS; raises CompareError for an unknown one, or none."""
    given = [names] if isinstance(names, str) else list(names)
    if ALL in given:
        given = list(TARGETS)
    for name in given:
        if name not in TARGETS:
            hint = did_you_mean(name, [*TARGETS, ALL], most=1)
            raise CompareError(f"target {name!r} is unknown: {hint}The targets are {', '.join(TARGETS)}, and {ALL}")
    if not given:
        raise CompareError(f"targets is empty; choose from {', '.join(TARGETS)}, and {ALL}")
    return [target for target in TARGETS.values() if target.name in given]
