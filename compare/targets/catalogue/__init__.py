"""The eleven targets of the shipped model: scenarios, compared schemes and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compare.targets import reach
from compare.targets.catalogue.development import DEVELOPMENT
from compare.targets.catalogue.fresh import FRESH
from compare.targets.catalogue.held_out import held_out_scenarios
from compare.targets.catalogue.undominated import Undominated
from compare.targets.catalogue.winning import LEFT, HighestRate
from compare.targets.figures import competing_share, metric, per_run, utilisation_after_loss
from compare.targets.requirement import (
    InEachScenario,
    at_least,
    at_most,
    best_peer,
    between,
    but_within_reach,
    not_worst,
    of_reference,
)
from compare.targets.response import jain_later, jain_when_settled, round_trips_to_drain, round_trips_to_use
from compare.targets.target import Target
from env.errors import UserError, suggest
from env.network.scenario import Scenario, load_scenario, scenarios_named
from env.network.schemes import ORACLE

ALL = "all"


def _named(*names: str) -> Callable[[], tuple[Scenario, ...]]:
    return lambda: tuple(load_scenario(name) for name in names)


DELAY = ("delay_extreme", "delay_moderate")
PUBLISHED = (*DELAY, "fiber")
BUFFERS = tuple(scenarios_named("buffers"))
LOSS = ("loss/0_1pct", "loss/0_5pct", "loss/1pct", "loss/2pct", "loss/1pct_fast", "loss/2pct_far")
SAME = ("compete/same_4", "compete/joining_4")
BESIDE_CUBIC = ("compete/cubic_1v1", "compete/cubic_1v1_4bdp")
UP = ("change/rate_up", "change/rate_steps")
DOWN = ("change/rate_down", "change/rate_steps")
TRACES = ("access/lte", "access/lte_train", "access/5g")
REQUESTS = ("compete/requests", "compete/requests_of_cubic")

HARM = tuple(scenarios_named("harm"))
# queues that others manage, police or share, and a congested path of the ACKs
QUEUES = (
    *("queue/fq_codel", "queue/cake", "queue/red", "queue/red_ecn", "queue/step_ecn", "loss/policer"),
    *("internet/thinned_acks", "compete/same_16", "compete/web"),
)
# of the targets internet: flows that send as much as they can, those that share, and requests
OTHERS = ("cubic", "bbr")
BULK = (
    *("internet/wifi_acks", "internet/docsis_acks", "internet/thinned_acks", "internet/bloated_uplink"),
    *("internet/route_5ms", "internet/route_50ms", "internet/route_tenfold", "internet/rtt_2s"),
    *("internet/jitter", "internet/small_receiver", "loss/policer"),
)
CROWD = ("internet/connections_250",)
MANY = ("internet/datacenter", *CROWD, "queue/fq_codel", "queue/cake", "queue/step_ecn")
LATENCY = ("internet/video", "internet/requests", "internet/idle_hour", "internet/incast_64")

goodput, per_mb, utilisation = metric("goodput"), metric("retransmits_per_mb"), metric("utilisation")
queueing, power, p99 = metric("queueing_p95"), metric("power"), metric("p99_latency")

TARGETS = {
    target.name: target
    for target in (
        Target(
            "published",
            "The published tests of a fast and of two long paths",
            _named(*PUBLISHED),
            (ORACLE, "bbr"),
            (
                InEachScenario(
                    "goodput",
                    "goodput at least the best peer's",
                    "Mbit/s",
                    PUBLISHED,
                    goodput,
                    best_peer(goodput),
                    reach.goodput_mbps,
                ),
                InEachScenario(
                    "over_bbr",
                    "goodput at least 1.25 times BBR's",
                    "Mbit/s",
                    DELAY,
                    goodput,
                    of_reference(goodput, "bbr", least=1.25),
                    reach.goodput_mbps,
                ),
                InEachScenario(
                    "window",
                    "goodput at least 95 % of the best constant window's",
                    "Mbit/s",
                    PUBLISHED,
                    goodput,
                    of_reference(goodput, ORACLE, least=0.95),
                    reach.goodput_mbps,
                ),
                InEachScenario(
                    "retransmits",
                    "fewer retransmissions per MB than BBR",
                    "1/MB",
                    DELAY,
                    per_mb,
                    of_reference(per_mb, "bbr", most=1, strict=True),
                    reach.always(0),
                ),
            ),
        ),
        Target(
            "stress",
            "The published stress test, in 40 seeds",
            _named("stress"),
            (),
            (
                Undominated(
                    "undominated",
                    "no peer has more goodput with as few retransmissions per MB, or fewer with as much",
                    "stress",
                    ("goodput", "Mbit/s"),
                    ("retransmits_per_mb", "1/MB"),
                ),
            ),
            fixed_seeds=40,
        ),
        Target(
            "buffers",
            "Buffers of 0.5 to 8 BDP without random loss, 1 to 200 Mbit/s, 10 to 300 ms",
            _named(*BUFFERS),
            ("cubic",),
            (
                InEachScenario(
                    "utilisation",
                    "utilisation at least 95 %",
                    "%",
                    BUFFERS,
                    utilisation,
                    at_least(95),
                    reach.utilisation_pct,
                ),
                InEachScenario(
                    "queueing",
                    "p95 queueing delay at most a quarter of Cubic's, or three packet times",
                    "ms",
                    BUFFERS,
                    queueing,
                    but_within_reach(
                        of_reference(queueing, "cubic", most=0.25), reach.three_packets_ms, "three packets"
                    ),
                    reach.one_packet_ms,
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
                    "utilisation at least 90 % of the rate that loss leaves",
                    "%",
                    LOSS,
                    utilisation_after_loss,
                    at_least(90),
                    reach.utilisation_pct,
                ),
            ),
        ),
        Target(
            "fairness",
            "Fairness among its own flows and against Cubic",
            _named(*SAME, "compete/rtt_1v4", *BESIDE_CUBIC),
            (),
            (
                InEachScenario(
                    "own",
                    "four own flows: Jain index at least 0.95 within 20 round trips of the last start",
                    "",
                    SAME,
                    per_run(jain_when_settled),
                    at_least(0.95),
                    reach.always(1),
                ),
                InEachScenario(
                    "own_later",
                    "four own flows: Jain index at least 0.95 after that",
                    "",
                    SAME,
                    per_run(jain_later),
                    at_least(0.95),
                    reach.always(1),
                ),
                InEachScenario(
                    "own_losses",
                    "four own flows: at most 1 retransmission per MB",
                    "1/MB",
                    SAME,
                    per_mb,
                    at_most(1),
                    reach.always(0),
                ),
                InEachScenario(
                    "rtt",
                    "RTTs 1:4: Jain index at least 0.8",
                    "",
                    ("compete/rtt_1v4",),
                    metric("jain"),
                    at_least(0.8),
                    reach.always(1),
                ),
                InEachScenario(
                    "beside_cubic",
                    "against Cubic: own goodput 0.5 to 1.5 of the fair share",
                    "",
                    BESIDE_CUBIC,
                    metric("share_cubic"),
                    between(0.5, 1.5),
                    reach.always(1),
                ),
                InEachScenario(
                    "left_to_cubic",
                    "against Cubic: Cubic's goodput 0.5 to 1.5 of the fair share",
                    "",
                    BESIDE_CUBIC,
                    per_run(competing_share),
                    between(0.5, 1.5),
                    reach.always(1),
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
                    per_run(round_trips_to_use),
                    at_most(5),
                    reach.round_trips_to_use,
                ),
                InEachScenario(
                    "down",
                    "queue drained within 5 round trips of a decrease",
                    "round trips",
                    DOWN,
                    per_run(round_trips_to_drain),
                    at_most(5),
                    reach.round_trips_to_drain,
                ),
                InEachScenario(
                    "power",
                    "power at least BBR's on the traces",
                    "Mbit/s/ms",
                    TRACES,
                    power,
                    of_reference(power, "bbr", least=1),
                    reach.power_mbps_per_ms,
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
                    "p99 latency of requests at most half of that with Cubic",
                    "us",
                    REQUESTS,
                    p99,
                    of_reference(p99, "cubic", most=0.5),
                    reach.latency_us,
                ),
            ),
        ),
        Target(
            "harm",
            "What is left to a competing flow where packets are lost or marked",
            _named(*HARM),
            (),
            (
                InEachScenario(
                    "left",
                    "the competing flow has at least a quarter of its fair share",
                    "",
                    HARM,
                    per_run(competing_share),
                    at_least(0.25),
                    reach.left_to_others,
                ),
                InEachScenario(
                    "used", "utilisation at least 80 %", "%", HARM, utilisation, at_least(80), reach.utilisation_pct
                ),
            ),
        ),
        Target(
            "queues",
            "Queues that others manage, police or share",
            _named(*QUEUES),
            ("bbr",),
            (
                InEachScenario(
                    "utilisation",
                    "utilisation at least 90 %",
                    "%",
                    QUEUES,
                    utilisation,
                    at_least(90),
                    reach.utilisation_pct,
                ),
                InEachScenario(
                    "queueing",
                    "p95 queueing delay at most BBR's",
                    "ms",
                    QUEUES,
                    queueing,
                    of_reference(queueing, "bbr", most=1),
                    reach.one_packet_ms,
                ),
            ),
            max_seeds=5,
            reported=False,
        ),
        Target(
            "internet",
            "Paths and traffic of the Internet: first or second of three, beside Cubic and BBR",
            _named(*BULK, *MANY, *LATENCY),
            OTHERS,
            (
                InEachScenario(
                    "goodput",
                    "goodput at least 95 % of the lower of Cubic's and BBR's",
                    "Mbit/s",
                    BULK,
                    goodput,
                    not_worst(goodput, OTHERS, factor=0.95),
                    reach.goodput_mbps,
                ),
                InEachScenario(
                    "shared",
                    "utilisation at least 95 % of the lower of Cubic's and BBR's",
                    "%",
                    MANY,
                    utilisation,
                    not_worst(utilisation, OTHERS, factor=0.95),
                    reach.utilisation_pct,
                ),
                InEachScenario(
                    "lost",
                    "retransmissions per MB at most the higher of Cubic's and BBR's",
                    "1/MB",
                    CROWD,
                    per_mb,
                    not_worst(per_mb, OTHERS, more_is_better=False),
                    reach.always(0),
                ),
                InEachScenario(
                    "even",
                    "Jain index of 250 connections at least 95 % of the lower of Cubic's and BBR's",
                    "",
                    CROWD,
                    metric("jain"),
                    not_worst(metric("jain"), OTHERS, factor=0.95),
                    reach.always(1),
                ),
                InEachScenario(
                    "latency",
                    "p99 latency of requests at most the higher of Cubic's and BBR's",
                    "us",
                    LATENCY,
                    p99,
                    not_worst(p99, OTHERS, more_is_better=False),
                    reach.latency_us,
                ),
            ),
            max_seeds=10,
            reported=False,
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
                    "scenarios with a competing flow",
                ),
                *LEFT,
            ),
            max_seeds=1,
            reported=False,
        ),
        FRESH,
        DEVELOPMENT,
    )
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
