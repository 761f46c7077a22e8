"""Congestion controls that the user brings: built, checked and loaded once, before the first run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compare.experiment.experiment import Experiment, fixed_schemes
from compare.experiment.labs import LabKind
from env.errors import UserError, in_context
from env.lab import LabError
from env.network.schemes import Scheme
from env.own_module import prepare


@dataclass(frozen=True)
class OwnModules:
    """The modules, and the kernel's names of their congestion controls, by scheme name."""

    files: dict[str, Path] = field(default_factory=dict)
    algorithms: dict[str, str] = field(default_factory=dict)


def build_own(schemes: Sequence[Scheme], kind: LabKind) -> OwnModules:
    """Build the modules of those schemes that the user brings, and load each in a lab of its own.

    Raises UserError, with the compiler's lines for a source that does not build.
    """
    own = [scheme for scheme in schemes if scheme.source]
    labels = [scheme.label for scheme in own]
    modules = OwnModules()
    for scheme in own:
        if labels.count(scheme.label) > 1:
            raise UserError(f"schemes: two are called {scheme.label}; give them different names before the @")
        with in_context(f"scheme {scheme.name}", LabError):
            module = prepare(scheme.own_name, kind.tree, kind.boot)
        modules.files[scheme.name], modules.algorithms[scheme.name] = module.file, module.algorithm
    return modules


def check_together(experiment: Experiment, algorithms: Mapping[str, str]) -> None:
    """Raise UserError when a run has two schemes that the kernel cannot have at the same time."""
    for scenario in experiment.scenarios:
        for scheme in experiment.schemes:
            names = dict.fromkeys([scheme.name, *fixed_schemes(scenario)])
            own = [name for name in names if name in algorithms]
            for name in own:
                if [algorithms[other] for other in own].count(algorithms[name]) > 1:
                    raise UserError(
                        f"scenario {scenario.name}: {' and '.join(own)} are both the congestion control "
                        f"{algorithms[name]}, which a kernel has once, with one set of parameters: they cannot compete"
                    )
