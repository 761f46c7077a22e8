"""The plan of a comparison: scenarios x schemes x seeds, checked before anything runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from omegaconf import OmegaConf

from compare.experiment.changes import Change, SweepPoint, changed
from compare.experiment.window_search import settings
from env.config_errors import refuse_variables
from env.errors import UserError, in_context
from env.network.scenario import MAX_DURATION_S, UNDER_TEST, Scenario, check_scenario, scenario_names
from env.network.scenario_files import find_scenarios
from env.network.schemes import DEFAULT_SCHEMES, ORACLE, Scheme, find_scheme, find_schemes

FORMAT = 1
MAX_SEEDS = 10_000
MIN_DURATION_S = 1.0  # a few round trips of a slow path


@dataclass(frozen=True)
class Run:
    """One run of the matrix."""

    scenario: Scenario
    scheme: Scheme
    seed: int


@dataclass(frozen=True)
class Experiment:
    """A matrix of runs. seeds: their number; the seeds are 1 to seeds. sample_ms: time between two samples.

    binaries: name to hash of the files that the runs depend on: everything compiled, and link traces. sweep: a point
    for each scenario of a sweep, in their order. windows: scenario name to the oracle's window, packets; a search finds
    them, and its result depends only on the other fields. algorithms: scheme name to the kernel's name of a congestion
    control that the user brings; its module tells it.
    """

    scenarios: tuple[Scenario, ...]
    schemes: tuple[Scheme, ...]
    seeds: int
    sample_ms: int
    binaries: dict[str, str]
    sweep: tuple[SweepPoint, ...] = ()
    windows: Mapping[str, int] = field(default_factory=dict, compare=False)
    algorithms: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def has_oracle(self) -> bool:
        """True when a search must find the best constant window of each scenario first."""
        return any(scheme.is_oracle for scheme in self.schemes)

    def kernels(self) -> list[str]:
        """Return the kernels that schemes name, "" for that of the comparison."""
        return list(dict.fromkeys(scheme.kernel for scheme in self.schemes))

    def all_schemes(self, kernel: str | None = None) -> list[Scheme]:
        """Return the schemes under test, and those of the scenarios' other flows. kernel: of the runs; None for all."""
        schemes = {scheme.name: scheme for scheme in self.schemes if kernel in (None, scheme.kernel)}
        for scenario in self.scenarios:
            schemes |= {name: find_scheme(name) for name in fixed_schemes(scenario) if name not in schemes}
        return list(schemes.values())

    def schemes_of(self, run: Run) -> dict[str, Scheme]:
        """Return the schemes of a run's flows by name, the oracle with its window.

        Raises UserError when the oracle's window is not known.
        """
        schemes = {run.scheme.name: run.scheme}
        schemes |= {name: find_scheme(name) for name in fixed_schemes(run.scenario) if name not in schemes}
        if run.scheme.is_oracle:
            packets = self.windows.get(run.scenario.name)
            if packets is None:
                raise UserError(f"scenario {run.scenario.name}: the oracle's window has not been found")
            schemes[run.scheme.name] = run.scheme.with_packets(packets)
        return {
            name: replace(scheme, algorithm=self.algorithms[name]) if scheme.source else scheme
            for name, scheme in schemes.items()
        }

    def runs(self) -> list[Run]:
        """Return all runs, seed by seed: all schemes have about as many runs after an interruption."""
        return [
            Run(scenario, scheme, seed)
            for seed in range(1, self.seeds + 1)
            for scenario in self.scenarios
            for scheme in self.schemes
        ]

    def identity(self) -> dict[str, Any]:
        """Return, as plain data, everything that the results depend on."""
        identity = {
            "format": FORMAT,
            "scenarios": {scenario.name: _plain(scenario) for scenario in self.scenarios},
            "schemes": [scheme.name for scheme in self.schemes],
            "seeds": self.seeds,
            "sample_ms": self.sample_ms,
            "binaries": self.binaries,
        }
        identity |= {"oracle": settings()} if self.has_oracle else {}
        return identity | ({"sweep": [asdict(point) for point in self.sweep]} if self.sweep else {})

    def default_name(self) -> str:
        """Return a folder name that identifies the experiment."""
        digest = hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()
        names = "+".join(re.sub(r"[^A-Za-z0-9_.-]", "-", scenario.name) for scenario in self.scenarios)
        return f"{names[:60]}-{digest[:8]}"


def _plain(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as plain data, without the key of a chain if it has none: older experiments lack it."""
    plain = asdict(scenario)
    if scenario.chain is None:
        del plain["chain"]
    return plain


def flows_under_test(scenario: Scenario) -> list[bool]:
    """Return for each flow of a run whether it has the scheme under test."""
    return [flow["scheme"] == UNDER_TEST for flow in scenario.flows_with(UNDER_TEST)]


def fixed_schemes(scenario: Scenario) -> list[str]:
    """Return the names of the schemes that a scenario's file gives to flows, each once."""
    return list(dict.fromkeys(flow.scheme for flow in scenario.flows if flow.scheme != UNDER_TEST))


def with_rival(scenario: Scenario, rival: str) -> Scenario:
    """Return the scenario with another scheme in all flows that are not under test, and under another name.

    Raises UserError when all flows are under test.
    """
    replaced = fixed_schemes(scenario)
    if not replaced:
        raise UserError(
            f"rival is {rival!r}, but scenario {scenario.name} has no rival: all its flows are under test. Leave out "
            f"this scenario or rival="
        )
    flows = [flow if flow.scheme == UNDER_TEST else replace(flow, scheme=rival) for flow in scenario.flows]
    plain = re.sub(r"[^A-Za-z0-9_.@-]", "-", rival)  # a folder has this name, too
    return replace(
        scenario,
        name=f"{scenario.name}+{plain}",
        claim=f"{scenario.claim} (with {rival} in place of {' and '.join(replaced)})",
        flows=flows,
    )


def plan(
    scenario: str | list[str],
    schemes: str | list[str] | None,
    seeds: int,
    duration_s: float | None,
    sample_ms: int,
    rival: str | None = None,
    changes: Sequence[Change] = (),
) -> Experiment:
    """Return the experiment, without its binaries.

    scenario: names, folders and files (env/network/scenario_files.py). schemes: None stands for all schemes that the
    scenarios name. duration_s: replaces the scenarios' durations. rival: replaces the schemes of flows that are not
    under test. changes: to the networks of all scenarios.

    Raises UserError: unknown scheme or scenario (with near matches), an empty list, values out of range, a scenario
    that cannot run, a rival for a scenario without one.
    """
    names = [scenario] if isinstance(scenario, str) else list(scenario)
    if not names:
        raise UserError(f"scenario is empty; choose from {', '.join(scenario_names())}")
    scenarios, points = changed(find_scenarios([str(name) for name in names]), changes)
    if rival is not None:
        _check_rival(rival)
        scenarios = [with_rival(scenario, rival) for scenario in scenarios]
    experiment = plan_of(scenarios, schemes, seeds, duration_s, sample_ms)
    sweep = [replace(point, scenario=scenario.name) for point, scenario in zip(points, scenarios, strict=False)]
    return replace(experiment, sweep=tuple(sweep))


def plan_of(
    scenarios: Sequence[Scenario],
    schemes: str | list[str] | None,
    seeds: int,
    duration_s: float | None,
    sample_ms: int,
) -> Experiment:
    """Return the experiment of these scenarios, as plan() does for their names."""
    if not 1 <= seeds <= MAX_SEEDS:
        raise UserError(f"seeds is {seeds}; it is the number of runs per scheme, from 1 to {MAX_SEEDS} (default 10)")
    if not 1 <= sample_ms <= 1000:
        raise UserError(f"sample_ms is {sample_ms}; it must lie between 1 and 1000")
    scenarios = tuple(_with_duration(scenario, duration_s) for scenario in scenarios)
    for scenario in scenarios:
        _check_fixed(scenario)
    if schemes is None:
        schemes = list(dict.fromkeys(name for scenario in scenarios for name in scenario.schemes or DEFAULT_SCHEMES))
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    return Experiment(scenarios, tuple(find_schemes(names)), seeds, sample_ms, {})


def _check_rival(name: str) -> None:
    rival = _find_scheme_of("rival", name)
    if rival.kernel:
        raise UserError(f"rival is {name!r}, but its kernel is that of the scheme under test: leave out the kernel")
    if rival.is_oracle:
        raise UserError(f"rival is {ORACLE!r}, which can only be under test; use a window such as window@16")


def _check_fixed(scenario: Scenario) -> None:
    """Raise UserError when a scenario gives a flow an unknown scheme, or the oracle."""
    for name in fixed_schemes(scenario):
        scheme = _find_scheme_of(f"scenario {scenario.name}", name)
        if scheme.kernel:
            raise UserError(
                f"scenario {scenario.name}: {name} runs on the kernel of the scheme under test: leave out its own"
            )
        if scheme.is_oracle:
            raise UserError(f"scenario {scenario.name}: {ORACLE} can only be under test; use one such as window@16")


def _find_scheme_of(where: str, name: str) -> Scheme:
    """Return a scheme; raises UserError that begins with where the name was given."""
    with in_context(where):
        return find_scheme(name)


def _with_duration(scenario: Scenario, duration_s: float | None) -> Scenario:
    if duration_s is None:
        return scenario
    if not MIN_DURATION_S <= duration_s <= MAX_DURATION_S:
        raise UserError(f"duration_s is {duration_s:g}; it must lie between {MIN_DURATION_S:g} and {MAX_DURATION_S}")
    changed = scenario.lasting(float(duration_s))
    check_scenario(changed)
    return changed


def from_identity(identity: dict[str, Any]) -> Experiment:
    """Return the experiment of an identity(); raises UserError for another format."""
    if identity.get("format") != FORMAT:
        raise UserError(f"experiment.json has format {identity.get('format')!r}; this version reads {FORMAT}")
    schema = OmegaConf.structured(Scenario)
    scenarios = []
    refuse_variables(identity["scenarios"], "experiment.json")
    for content in identity["scenarios"].values():
        scenario = OmegaConf.to_object(OmegaConf.merge(schema, OmegaConf.create(content)))
        assert isinstance(scenario, Scenario)
        scenarios.append(scenario)
    schemes = find_schemes(list(identity["schemes"]))
    sweep = tuple(SweepPoint(**point) for point in identity.get("sweep", ()))
    seeds, sample_ms = int(identity["seeds"]), int(identity["sample_ms"])
    return Experiment(tuple(scenarios), tuple(schemes), seeds, sample_ms, identity["binaries"], sweep)
