"""The files that a comparison depends on: lab kernel, traffic program, modules with their models, link traces."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compare.errors import CompareError
from compare.experiment.labs import LabKind
from compare.experiment.trace_files import traces_of
from env.checkout import KERNEL as KERNEL_SOURCES
from env.checkout import ROOT, cache_folder
from env.files import sha256
from env.lab.lab import PROGRAM
from env.near import near_matches
from env.network.path import Path as NetworkPath
from env.network.scenario import Scenario
from env.network.schemes import Scheme, untrained_seed
from env.own_module import KernelTree
from export import selection
from export.integer.model import ExportError
from export.selection import EXPORTED, model_name

if TYPE_CHECKING:
    from export.pipeline import Exported

BUILD_SCRIPT = ROOT / "kernel" / "build.sh"
MODEL_MODULE = "tcp_ndm"  # contains the selected models


def find_modules(schemes: Sequence[Scheme], kind: LabKind) -> dict[str, Path]:
    """Return scheme name to .ko file, for schemes that need a module. Builds a module for each model of a run.

    Raises CompareError: module missing or older than its model, a model that cannot be exported or built.
    """
    modules: dict[str, Path] = {}
    for scheme in schemes:
        if scheme.model:
            modules[scheme.name] = _built_model(scheme, kind.tree)
        elif scheme.module:
            modules[scheme.name] = _shipped_module(scheme, kind)
    return modules


def module_key(scheme: str) -> str:
    """Return the key of a scheme's module among the binaries."""
    return f"module of {scheme}"


def on_kernel(name: str, kernel: str) -> str:
    """Return the key of a file among the binaries. kernel: of a scheme that names one."""
    return f"{name} of {kernel}" if kernel else name


def binaries(modules: Mapping[str, Path], scenarios: Sequence[Scenario], kind: LabKind) -> dict[str, str]:
    """Return name to SHA-256 of every file that the results of a kind of lab depend on."""
    hashes = {"lab kernel": kind.tree.sha256, "traffic program": sha256(PROGRAM)}
    if "lab_traffic" in kind.always_loaded:  # in real time, the traffic program sends and samples itself
        hashes["traffic module"] = sha256(kind.modules / "lab_traffic.ko")
    networks = [scenario.network for scenario in scenarios]
    if any(isinstance(network, NetworkPath) and network.trace for network in networks):
        hashes["link of a trace"] = sha256(kind.modules / "sch_linktrace.ko")
    traces = {key: file for network in networks for key, file in traces_of(network).items()}
    hashes |= {key: sha256(file) for key, file in sorted(traces.items())}
    return hashes | {module_key(scheme): sha256(module) for scheme, module in modules.items()}


def model_sha256(scheme: Scheme) -> str:
    """Return the SHA-256 of the weights of a scheme of tcp_ndm, as its checkpoint or header states it.

    Raises CompareError for a model that is missing or cannot be exported.
    """
    if scheme.model:
        return _exported(scheme).provenance.sha256
    try:
        return selection.sha256_of(selection.algorithms(selection.selected(EXPORTED))[scheme.algorithm], EXPORTED)
    except ExportError as error:
        raise CompareError(f"scheme {scheme.name}: {error}") from error


def _shipped_module(scheme: Scheme, kind: LabKind) -> Path:
    module = kind.modules / f"{scheme.module}.ko"
    if not module.is_file():
        raise CompareError(f"kernel module {module} does not exist: run `make {kind.target}`")
    if scheme.module != MODEL_MODULE:  # other modules contain no model
        return module
    content = module.read_bytes()
    try:
        models = {name: selection.sha256_of(name, EXPORTED) for name in selection.selected(EXPORTED)}
    except ExportError as error:
        raise CompareError(str(error)) from error
    for name, digest in models.items():
        if bytes.fromhex(digest) not in content:
            raise CompareError(f"{module} is older than the model {name}: run `make {kind.target}`")
    return module


def _exported(scheme: Scheme) -> Exported:
    """Quantize and verify a scheme's model."""
    from export.pipeline import build_model, find_policy  # here, because torch takes seconds to load
    from training.untrained import build_untrained

    try:
        seed = untrained_seed(scheme.model)
        return build_model(find_policy(scheme.model)) if seed is None else build_untrained(seed)
    except ExportError as error:
        hint = "; did you mean ndm@untrained?" if near_matches(scheme.model, ["untrained"]) else ""
        raise CompareError(f"scheme {scheme.name}: {error}{hint}") from error


def _built_model(scheme: Scheme, tree: KernelTree) -> Path:
    """Export the scheme's model and build its module, once per name, model, module source and kernel."""
    from export.formats.header import render_header  # here, because torch takes seconds to load

    exported = _exported(scheme)
    header = render_header(exported.model, exported.provenance)
    key = hashlib.sha256(f"{scheme.algorithm} {_build_hash(header, tree)}".encode()).hexdigest()
    folder = cache_folder("models") / f"{exported.provenance.sha256[:16]}-{key[:16]}"
    module = folder / f"{scheme.module}.ko"
    if not module.is_file():
        _build(model_name(exported.provenance.name), header, folder, scheme, tree)
    return module


def _build_hash(header: str, tree: KernelTree) -> str:
    digest = hashlib.sha256(header.encode())
    sources = [BUILD_SCRIPT, *(KERNEL_SOURCES / name for name in ("Kbuild", "VERSION"))]
    sources += [file for folder in ("compat", "ndm") for file in sorted((KERNEL_SOURCES / folder).iterdir())]
    for file in sources:
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    digest.update(tree.sha256.encode())
    return digest.hexdigest()


def _build(model: str, header: str, folder: Path, scheme: Scheme, tree: KernelTree) -> None:
    """Build into a temporary folder, then rename it, because two comparisons may build the same model."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".build-", dir=folder.parent))
    try:
        weights = work / f"{model}.h"
        weights.write_text(header)
        done = subprocess.run(
            [str(BUILD_SCRIPT), str(work), str(tree.folder), str(weights), scheme.algorithm],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
            raise CompareError(f"scheme {scheme.name}: the module could not be built:\n{tail}")
        shutil.rmtree(work / "src")
        try:
            work.rename(folder)
        except OSError:
            if not (folder / f"{scheme.module}.ko").is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
