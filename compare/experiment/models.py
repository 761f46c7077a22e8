"""The files that a comparison depends on: lab kernel, traffic program, modules, model files, link traces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compare.experiment.labs import LabKind
from compare.experiment.trace_files import traces_of
from env.errors import UserError, near_matches
from env.files import sha256
from env.lab.lab import PROGRAM
from env.network.path import Path as NetworkPath
from env.network.scenario import Scenario
from env.network.schemes import NDM_MODULE, Scheme, untrained_seed
from export.selection import EXPORTED, manifest_of, selected

if TYPE_CHECKING:
    from export.pipeline import Exported


def find_modules(schemes: Sequence[Scheme], kind: LabKind) -> dict[str, Path]:
    """Return scheme name to .ko file, for schemes that need a module.

    Raises UserError for a module that is missing or older than the model that is compiled in.
    """
    return {scheme.name: _shipped_module(scheme, kind) for scheme in schemes if scheme.module}


def find_models(schemes: Sequence[Scheme]) -> dict[str, bytes]:
    """Return scheme name to model file, for schemes with another model than the compiled-in one.

    Raises UserError for a model that is missing or cannot be exported.
    """
    return {scheme.name: _model_file(scheme) for scheme in schemes if scheme.model}


def module_key(scheme: str) -> str:
    """Return the key of a scheme's module among the binaries."""
    return f"module of {scheme}"


def model_key(scheme: str) -> str:
    """Return the key of a scheme's model file among the binaries."""
    return f"model of {scheme}"


def on_kernel(name: str, kernel: str) -> str:
    """Return the key of a file among the binaries. kernel: of a scheme that names one."""
    return f"{name} of {kernel}" if kernel else name


def binaries(
    modules: Mapping[str, Path], models: Mapping[str, bytes], scenarios: Sequence[Scenario], kind: LabKind
) -> dict[str, str]:
    """Return name to SHA-256 of every file that the results of a kind of lab depend on."""
    hashes = {"lab kernel": kind.tree.sha256, "traffic program": sha256(PROGRAM)}
    if "lab_traffic" in kind.always_loaded:  # in real time, the traffic program sends and samples itself
        hashes["traffic module"] = sha256(kind.modules / "lab_traffic.ko")
    networks = [scenario.network for scenario in scenarios]
    if any(isinstance(network, NetworkPath) and network.trace for network in networks):
        hashes["link of a trace"] = sha256(kind.modules / "sch_linktrace.ko")
    traces = {key: file for network in networks for key, file in traces_of(network).items()}
    hashes |= {key: sha256(file) for key, file in sorted(traces.items())}
    hashes |= {module_key(scheme): sha256(module) for scheme, module in modules.items()}
    return hashes | {model_key(scheme): hashlib.sha256(content).hexdigest() for scheme, content in models.items()}


def model_sha256(scheme: Scheme) -> str:
    """Return the SHA-256 of the weights of a scheme of tcp_ndm, as its checkpoint or manifest states it.

    Raises UserError for a model that is missing or cannot be exported.
    """
    return _exported(scheme).provenance.sha256 if scheme.model else _compiled_in()


def _compiled_in() -> str:
    return str(manifest_of(selected(EXPORTED), EXPORTED)["policy_sha256"])


def _shipped_module(scheme: Scheme, kind: LabKind) -> Path:
    module = kind.modules / f"{scheme.module}.ko"
    if not module.is_file():
        raise UserError(f"kernel module {module} does not exist: run `make {kind.target}`")
    if scheme.module == NDM_MODULE and bytes.fromhex(_compiled_in()) not in module.read_bytes():
        raise UserError(f"{module} is older than the model {selected(EXPORTED)}: run `make {kind.target}`")
    return module


def _exported(scheme: Scheme) -> Exported:
    """Quantize and verify a scheme's model."""
    from export.pipeline import build_model, find_policy  # here, because torch takes seconds to load
    from training.untrained import build_untrained

    try:
        seed = untrained_seed(scheme.model)
        return build_model(find_policy(scheme.model)) if seed is None else build_untrained(seed)
    except UserError as error:
        hint = "; did you mean ndm@untrained?" if near_matches(scheme.model, ["untrained"]) else ""
        raise UserError(f"scheme {scheme.name}: {error}{hint}") from error


def _model_file(scheme: Scheme) -> bytes:
    from export.formats.blob import write_blob  # here, because torch takes seconds to load

    exported = _exported(scheme)
    return write_blob(exported.model, exported.provenance)
