"""What a comparison compares: scenarios x schemes x seeds, checked before anything runs."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from omegaconf import OmegaConf

from compare.errors import CompareError
from compare.schemes import Scheme, find_schemes
from env.network.scenario import UNDER_TEST, Scenario, ScenarioError, check_scenario, load_scenario, scenario_names

FORMAT = 1
MAX_SEEDS = 10_000
DEFAULT_SCHEMES = ("ndm", "reno", "cubic", "bbr", "cdg", "vegas")  # of a scenario that names none
MIN_DURATION_S = 1.0  # less is over before the first round trips of a slow path


@dataclass(frozen=True)
class Run:
    """One cell of the matrix."""

    scenario: Scenario
    scheme: Scheme
    seed: int


@dataclass(frozen=True)
class Experiment:
    """A matrix of runs. seeds: how many, they are 1 to seeds. sample_ms: how often both sides are sampled.

    binaries: name to hash of the files that the runs depend on: everything compiled, link traces.
    """

    scenarios: tuple[Scenario, ...]
    schemes: tuple[Scheme, ...]
    seeds: int
    sample_ms: int
    binaries: dict[str, str]

    def runs(self) -> list[Run]:
        """Return all runs, seed by seed: after an interruption every scheme has about as many of them."""
        return [
            Run(scenario, scheme, seed)
            for seed in range(1, self.seeds + 1)
            for scenario in self.scenarios
            for scheme in self.schemes
        ]

    def identity(self) -> dict[str, Any]:
        """Return, as plain data, everything that decides the results."""
        return {
            "format": FORMAT,
            "scenarios": {scenario.name: asdict(scenario) for scenario in self.scenarios},
            "schemes": [scheme.name for scheme in self.schemes],
            "seeds": self.seeds,
            "sample_ms": self.sample_ms,
            "binaries": self.binaries,
        }

    def default_name(self) -> str:
        """Return a folder name that is the same for the same experiment and no other."""
        digest = hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()
        names = "+".join(re.sub(r"[^A-Za-z0-9_.-]", "-", scenario.name) for scenario in self.scenarios)
        return f"{names[:60]}-{digest[:8]}"


def flows_under_test(scenario: Scenario) -> list[bool]:
    """Return for each flow of a run whether it has the scheme under test."""
    return [flow["scheme"] == UNDER_TEST for flow in scenario.flows_with(UNDER_TEST)]


def plan(
    scenario: str | list[str], schemes: str | list[str] | None, seeds: int, duration_s: float | None, sample_ms: int
) -> Experiment:
    """Return the experiment, without its binaries.

    schemes: None stands for those that the scenarios name, all of them for each scenario. duration_s: in place of the
    scenarios' own, for a quick look.

    Raises CompareError: unknown scheme or scenario (with near matches), nothing to do, values out of range, a scenario
    that cannot run.
    """
    names = [scenario] if isinstance(scenario, str) else list(scenario)
    if not names:
        raise CompareError(f"scenario is empty; choose from {', '.join(scenario_names())}")
    names = [scenario for name in names for scenario in _expanded(str(name))]
    if len(set(names)) != len(names):
        raise CompareError(f"scenario {', '.join(names)}: one is given twice")
    if not 1 <= seeds <= MAX_SEEDS:
        raise CompareError(f"seeds is {seeds}; it is the number of runs per scheme, from 1 to {MAX_SEEDS} (default 10)")
    if not 1 <= sample_ms <= 1000:
        raise CompareError(f"sample_ms is {sample_ms}; it must lie between 1 and 1000")
    try:
        scenarios = tuple(_with_duration(load_scenario(str(name)), duration_s) for name in names)
    except ScenarioError as error:
        raise CompareError(str(error)) from error
    if schemes is None:
        schemes = list(dict.fromkeys(name for found in scenarios for name in found.schemes or DEFAULT_SCHEMES))
    found = find_schemes([schemes] if isinstance(schemes, str) else list(schemes))
    return Experiment(scenarios, tuple(found), seeds, sample_ms, {})


def _expanded(name: str) -> list[str]:
    """Return the scenarios that a name stands for: itself, or all of a folder; raises CompareError when unknown."""
    known = scenario_names()
    if name in known:
        return [name]
    within = [scenario for scenario in known if scenario.startswith(f"{name.rstrip('/')}/")]
    if within:
        return within
    folders = sorted({scenario.rpartition("/")[0] for scenario in known} - {""})
    near = difflib.get_close_matches(name, [*known, *folders], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    all_of = f"; {', '.join(folders)} stands for all of the folder" if folders else ""
    raise CompareError(f"scenario {name!r} is unknown: {hint}The scenarios are {', '.join(known)}{all_of}.")


def _with_duration(scenario: Scenario, duration_s: float | None) -> Scenario:
    if duration_s is None:
        return scenario
    if not MIN_DURATION_S <= duration_s <= 86_400:
        raise CompareError(f"duration_s is {duration_s:g}; it must lie between {MIN_DURATION_S:g} and 86400")
    other = scenario.lasting(float(duration_s))
    check_scenario(other)
    return other


def from_identity(identity: dict[str, Any]) -> Experiment:
    """Return the experiment that identity() described; raises CompareError for another format."""
    if identity.get("format") != FORMAT:
        raise CompareError(f"experiment.json has format {identity.get('format')!r}; this version reads {FORMAT}")
    schema = OmegaConf.structured(Scenario)
    scenarios = []
    for content in identity["scenarios"].values():
        scenario = OmegaConf.to_object(OmegaConf.merge(schema, OmegaConf.create(content)))
        assert isinstance(scenario, Scenario)
        scenarios.append(scenario)
    schemes = find_schemes(list(identity["schemes"]))
    return Experiment(
        tuple(scenarios), tuple(schemes), int(identity["seeds"]), int(identity["sample_ms"]), identity["binaries"]
    )
