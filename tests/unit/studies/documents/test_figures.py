"""The figures of all targets side by side: which have a row, and what is in it."""

from __future__ import annotations

from dataclasses import replace

from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.tables import TargetTable
from studies.documents.figures import figures_table
from tests.support.results import made_cells

PUBLISHED = ("delay_extreme", "delay_moderate", "fiber")


def made_table(name: str, **of_schemes: dict[str, list[float | None]]) -> TargetTable:
    """A target whose scenarios are all measured with the same values."""
    target = TARGETS[name]
    cells = [cell for scenario in target.make() for cell in made_cells(scenario, of_schemes)]
    return TargetTable(replace(target, requirements=target.requirements[:2]), Evidence(cells))


def test_every_scenario_has_a_row_and_every_scheme_a_column() -> None:
    utilisation = {"ndm": [98.0] * 3, "bbr": [None] * 3, "cubic": [49.0] * 3}
    loss = made_table("loss", **{name: {"utilisation": values} for name, values in utilisation.items()})
    published = made_table("published", ndm={"goodput": [11.0] * 3}, bbr={"goodput": [5.0] * 3})
    lines = figures_table([published, loss]).splitlines()
    assert lines[0] == "| requirement | scenario | NDM | BBR | Cubic |"
    # goodput and over_bbr judge the same figure, and fiber is a scenario of the first alone
    expected = [f"| published.goodput, Mbit/s | {name} | 11 (no spread) | 5 (no spread) | – |" for name in PUBLISHED]
    assert sorted(lines[2:5]) == sorted(expected)
    assert [line.split(" | ")[0] for line in lines[5:]] == ["| loss.used, %"] * 6
    # of what a loss of 0.1 % leaves
    assert lines[5].endswith(" | loss/0_1pct | 98.1 (no spread) | – | 49 (no spread) |")


def test_requirement_beside_each_peer_has_no_row() -> None:
    values = {"goodput": [17.0] * 3, "retransmits_per_mb": [1.0] * 3}
    stress = made_table("stress", ndm=values, reno=values, bbr=values)
    assert figures_table([stress]).splitlines()[2:] == []
