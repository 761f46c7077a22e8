"""The table of goodputs: which schemes have a column, and what is in it."""

from __future__ import annotations

from studies.documents.goodput import goodput_table
from tests.support.results import made_cells, made_scenario


def goodputs(**of_schemes: list[float | None]) -> dict[str, dict[str, list[float | None]]]:
    return {name: {"goodput": values} for name, values in of_schemes.items()}


def test_seeds_of_a_population_share_a_column() -> None:
    runs = {f"ndm@runs/some/full/full-{seed}": [10.0 * seed, 12.0 * seed] for seed in (1, 2)}
    one = made_cells(
        made_scenario("one"), goodputs(**runs, **{"ndm@runs/alone-1": [1.0], "cubic": [123.4], "nv": [2.0]})
    )
    two = made_cells(
        made_scenario("two"),
        goodputs(**{name: [3.0] for name in runs}, **{"ndm@runs/alone-1": [4.567], "cubic": [None]}),
    )
    assert goodput_table([*one, *two]) == (
        "| goodput, Mbit/s | full | NDM alone-1 | Cubic |\n"
        "| --- | --- | --- | --- |\n"
        "| one | 11, 22 | 1 | 123 |\n"
        "| two | 3, 3 | 4.57 | – |\n"
    )
