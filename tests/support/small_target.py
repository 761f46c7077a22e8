"""A target of one short scenario, for tests that measure a joint score in the lab."""

from __future__ import annotations

from compare.targets.figures import idle
from compare.targets.reach import idle_pct
from compare.targets.requirement import InEachScenario, at_most
from compare.targets.target import Target
from env.network.scenario import Scenario

PATH = {"rate_mbps": 10.0, "rtt_ms": 20.0, "buffer_bdp": 1.0}
USED = InEachScenario("idle", "", "%", ("short",), idle, at_most(5), idle_pct)


def short() -> tuple[Scenario, ...]:
    return (Scenario("short", "A link is used", 2.0, path=PATH),)


SMALL = Target("small", "A link", short, ("cubic",), (USED,))
