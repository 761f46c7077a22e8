"""docs/reference/scenarios.md: the scenarios of configs/scenario, each with its claim."""

from __future__ import annotations

import re

from env.markdown import markdown_table
from env.network.scenario import load_scenario, scenario_names

HEAD = """# Scenarios

`configs/scenario/` has the claim, the network and the flows of each scenario. `python compare.py scenario=NAME` runs
one, `scenario=[NAME,NAME]` several, `scenario=FAMILY` all FAMILY/NAME. N stands for numbers that the names of a row
have.
"""
# the families in their order on the page, and what all of a family claim, if that says enough
FAMILIES = {
    "": "",
    "delay": "A clean 50 Mbit/s path is filled with little queue",
    "loss": "",
    "rate": "1 Mbit/s to 1 Gbit/s at an RTT of 40 ms are filled with little queue",
    "buffers": "A path is filled with little queue, whatever its rate, RTT and buffer",
    "start": "Sixteen round trips of a new connection lose little in a buffer of a quarter of the BDP",
    "queue": "",
    "disorder": "",
    "access": "",
    "recorded": "",
    "change": "",
    "compete": "",
    "chain": "",
    "harm": "A competing flow that is easily starved keeps a quarter of its share at least",
    "internet": "",
    "nv": "",
    "nv_frames": "As nv, in packets of four frames",
    "nv_causes": "As nv, with another packet size or buffer",
}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def render() -> str:
    """Return the page."""
    families: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for name in scenario_names():
        families.setdefault(name.rpartition("/")[0], []).append(name)
    rows = [row for family, names in families.items() for row in _rows(names, FAMILIES.get(family, ""))]
    return f"{HEAD}\n{markdown_table(['scenario', 'claim'], rows)}\n"


def _rows(names: list[str], claim: str) -> list[list[str]]:
    """Return the rows of a family: one for all if there is a claim, else one for those that differ in numbers alone."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(claim or NUMBER.sub("N", load_scenario(name).claim), []).append(name)
    return [[", ".join(members), claim or _common(members)] for members in alike.values()]


def _common(names: list[str]) -> str:
    """Return the claim of scenarios, with N for the numbers in which they differ."""
    claims = [load_scenario(name).claim for name in names]
    numbers = iter(zip(*map(NUMBER.findall, claims), strict=True))
    return NUMBER.sub(lambda match: match[0] if len(set(next(numbers))) == 1 else "N", claims[0])
