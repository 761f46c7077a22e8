"""Finds scenarios by what a command names: a scenario of configs/scenario, a folder of them, or files anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from env.errors import UserError
from env.network import scenario as scenarios
from env.network.scenario import Scenario, check_scenario, load_scenario, read_scenario, scenarios_named

SUFFIXES = (".yaml", ".yml")
NAME = re.compile(r"[A-Za-z0-9_@-][A-Za-z0-9_.@-]*(/[A-Za-z0-9_@-][A-Za-z0-9_.@-]*)*", re.ASCII)


def find_scenarios(references: Sequence[str]) -> list[Scenario]:
    """Return the checked scenarios of all references, in order.

    A reference is a name or a folder of configs/scenario, or else the path of a .yaml file or of a folder, which stands
    for the .yaml files in it.

    Raises UserError: unknown (with near matches), a file that cannot be read or has a wrong key, a scenario that
    cannot run, two scenarios of the same name.
    """
    found: dict[str, tuple[Scenario, str]] = {}
    for reference in references:
        for scenario, where in _found(reference):
            if scenario.name in found:
                both = " and ".join(dict.fromkeys([found[scenario.name][1], where]))
                raise UserError(f"scenario {scenario.name} is given twice ({both}); each needs a name of its own")
            found[scenario.name] = (scenario, where)
    return [scenario for scenario, _ in found.values()]


def _found(reference: str) -> list[tuple[Scenario, str]]:
    """Return the scenarios of one reference, each with where it was found."""
    path = Path(reference).expanduser()
    if reference.endswith(SUFFIXES):
        return _scenarios_of_file(path)
    try:
        return [(load_scenario(name), name) for name in scenarios_named(reference)]
    except UserError:
        if path.is_file():
            raise UserError(f"{path} is no scenario: its name must end in {' or '.join(SUFFIXES)}") from None
        if path.is_absolute() and not path.exists():
            raise UserError(f"{path} does not exist; give a .yaml file, or a folder with such files") from None
        if not path.is_dir():
            raise
    files = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
    if not files:
        raise UserError(f"folder {reference!r} has no scenario: none of its files ends in {' or '.join(SUFFIXES)}")
    return [found for file in files for found in _scenarios_of_file(file)]


def _scenarios_of_file(file: Path) -> list[tuple[Scenario, str]]:
    shipped = scenarios.FOLDER.resolve()
    if file.resolve().is_relative_to(shipped):
        name = str(file.resolve().relative_to(shipped).with_suffix(""))
        return [(load_scenario(name), str(file)) for name in scenarios_named(name)]
    scenario = read_scenario(file)
    if not NAME.fullmatch(scenario.name):
        raise UserError(
            f"{file}: its name is {scenario.name!r}; it may have letters, digits and _ . @ -, and / between folders"
        )
    if scenario.name in scenarios.scenario_names():
        raise UserError(
            f"{file}: its name is {scenario.name!r}, which is a scenario of configs/scenario; give it another name"
        )
    check_scenario(scenario)
    return [(scenario, str(file))]
