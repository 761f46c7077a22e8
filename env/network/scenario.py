"""A scenario: a named claim about flows on a path, read from configs/scenario/NAME.yaml."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from env.network.path import Path, PathError

FOLDER = FilePath(__file__).resolve().parents[2] / "configs" / "scenario"
UNDER_TEST = "under_test"  # stands for the scheme that a comparison puts into the flow


class ScenarioError(ValueError):
    """A scenario that is unknown or cannot run; the message says what is wrong and what is right."""


@dataclass
class Flow:
    """One bulk transfer. scheme: a congestion-control name of the lab; times in virtual seconds.

    duration_s 0 means: until the scenario ends.
    """

    scheme: str = UNDER_TEST
    start_s: float = 0.0
    duration_s: float = 0.0


@dataclass
class Scenario:
    """What configs/scenario/NAME.yaml may hold."""

    name: str = MISSING
    claim: str = MISSING
    duration_s: float = MISSING
    path: dict[str, Any] = MISSING
    flows: list[Flow] = field(default_factory=lambda: [Flow()])

    def network_path(self) -> Path:
        """Return the path, checked; raises ScenarioError."""
        try:
            return Path.from_dict(dict(self.path))
        except (PathError, TypeError) as error:
            raise ScenarioError(f"scenario {self.name}: {error}") from error

    def flows_with(self, scheme: str) -> list[dict[str, Any]]:
        """Return the flows for a `run` command, the scheme under test being `scheme`."""
        return [
            {
                "scheme": scheme if flow.scheme == UNDER_TEST else flow.scheme,
                "start_s": flow.start_s,
                "duration_s": flow.duration_s or self.duration_s - flow.start_s,
            }
            for flow in self.flows
        ]


def scenario_names() -> list[str]:
    """Return the names of all scenarios, subfolders included (nv/1s1c1fs), sorted."""
    return sorted(str(file.relative_to(FOLDER).with_suffix("")) for file in FOLDER.rglob("*.yaml"))


def load_scenario(name: str) -> Scenario:
    """Read and check one scenario.

    Raises ScenarioError: unknown name (with near matches), wrong key or type (with the right ones), a path that
    cannot be built, a flow outside the run.
    """
    file = FOLDER / f"{name}.yaml"
    if not file.is_file():
        names = scenario_names()
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ScenarioError(f"scenario {name!r} is unknown: {hint}The scenarios are {', '.join(names)}.")
    try:
        loaded = OmegaConf.merge(OmegaConf.structured(Scenario), OmegaConf.load(file))
        scenario = OmegaConf.to_object(loaded)
    except (OmegaConfBaseException, ValueError) as error:
        key = getattr(error, "full_key", None)
        raise ScenarioError(f"{file}: {f'{key}: ' if key else ''}{str(error).splitlines()[0]}") from error
    if not isinstance(scenario, Scenario):
        raise ScenarioError(f"{file}: not a scenario")
    check_scenario(scenario)
    return scenario


def check_scenario(scenario: Scenario) -> None:
    """Raise ScenarioError when the scenario cannot run."""
    scenario.network_path()
    if scenario.duration_s <= 0:
        raise ScenarioError(f"scenario {scenario.name}: duration_s is {scenario.duration_s:g}; it must be positive")
    if not any(flow.scheme == UNDER_TEST for flow in scenario.flows):
        raise ScenarioError(f"scenario {scenario.name}: no flow has the scheme {UNDER_TEST}")
    for flow in scenario.flows:
        end_s = flow.start_s + flow.duration_s
        if (
            flow.start_s < 0
            or flow.duration_s < 0
            or flow.start_s >= scenario.duration_s
            or end_s > scenario.duration_s
        ):
            raise ScenarioError(
                f"scenario {scenario.name}: a flow from {flow.start_s:g} s for {flow.duration_s:g} s does not lie "
                f"within the run of {scenario.duration_s:g} s"
            )
