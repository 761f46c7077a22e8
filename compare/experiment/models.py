"""The files that a comparison depends on: lab kernel, traffic program, modules with their models, link traces."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compare.errors import CompareError
from compare.experiment.trace_files import traces_of
from env.checkout import BUILD, ROOT
from env.checkout import KERNEL as KERNEL_SOURCES
from env.lab.lab import PROGRAM
from env.lab.virtual import ALWAYS_LOADED, KERNEL, MODULES
from env.near import near_matches
from env.network.path import Path as NetworkPath
from env.network.scenario import Scenario
from env.network.schemes import Scheme, untrained_seed
from export import selection
from export.integer.model import ExportError
from export.selection import EXPORTED, model_name

if TYPE_CHECKING:
    from export.pipeline import Exported

BUILD_SCRIPT = ROOT / "kernel" / "build.sh"
KERNEL_TREE = BUILD / "lab-kernel" / "tree"
MODEL_MODULE = "tcp_ndm"  # contains the selected models


def cache_folder() -> Path:
    """Return the folder of built models: $NDM_CACHE/models, by default in ~/.cache/ndm-tcp."""
    return Path(os.environ.get("NDM_CACHE") or Path.home() / ".cache" / "ndm-tcp") / "models"


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_lab() -> None:
    """Raise CompareError when the lab kernel or the traffic program is missing or cannot be executed."""
    for file, target in ((KERNEL, "lab-kernel"), (PROGRAM, "module")):
        if not file.is_file():
            raise CompareError(f"{file} does not exist: run `make {target}`")
        if not os.access(file, os.X_OK):
            raise CompareError(f"{file} cannot be executed: run `chmod +x {file}`")
    for module in ALWAYS_LOADED:
        if not (MODULES / f"{module}.ko").is_file():
            raise CompareError(f"kernel module {MODULES / module}.ko does not exist: run `make module`")


def find_modules(schemes: Sequence[Scheme], folder: Path | None = None) -> dict[str, Path]:
    """Return scheme name to .ko file, for schemes that need a module. Builds a module for each model of a run.

    folder: that of the shipped modules; default: that for the lab kernel.

    Raises CompareError: module missing or older than its model, a model that cannot be exported or built.
    """
    modules: dict[str, Path] = {}
    for scheme in schemes:
        if scheme.model:
            modules[scheme.name] = _built_model(scheme)
        elif scheme.module:
            modules[scheme.name] = _shipped_module(scheme, folder or MODULES)
    return modules


def module_key(scheme: str) -> str:
    """Return the key of a scheme's module among the binaries."""
    return f"module of {scheme}"


def binaries(
    modules: dict[str, Path], scenarios: Sequence[Scenario], kernel: Path | None = None, folder: Path | None = None
) -> dict[str, str]:
    """Return name to SHA-256 of every file that the results depend on.

    kernel, folder: the kernel's image and the folder of its modules; default: those of the lab kernel.
    """
    image, modules_folder = kernel or KERNEL, folder or MODULES
    hashes = {"lab kernel": sha256(image), "traffic program": sha256(PROGRAM)}
    if image == KERNEL:  # in real time, the traffic program sends and samples itself
        hashes["traffic module"] = sha256(modules_folder / "lab_traffic.ko")
    networks = [scenario.network() for scenario in scenarios]
    if any(isinstance(network, NetworkPath) and network.trace for network in networks):
        hashes["link of a trace"] = sha256(modules_folder / "sch_linktrace.ko")
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


def _shipped_module(scheme: Scheme, folder: Path) -> Path:
    module = folder / f"{scheme.module}.ko"
    if not module.is_file():
        raise CompareError(f"kernel module {module} does not exist: run `make module`")
    if scheme.module != MODEL_MODULE:  # other modules contain no model
        return module
    content = module.read_bytes()
    try:
        models = {name: selection.sha256_of(name, EXPORTED) for name in selection.selected(EXPORTED)}
    except ExportError as error:
        raise CompareError(str(error)) from error
    for name, digest in models.items():
        if bytes.fromhex(digest) not in content:
            raise CompareError(f"{module} is older than the model {name}: run `make module`")
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


def _built_model(scheme: Scheme) -> Path:
    """Export the scheme's model and build its module, once per name, model, module source and lab kernel."""
    from export.formats.header import render_header  # here, because torch takes seconds to load

    exported = _exported(scheme)
    header = render_header(exported.model, exported.provenance)
    key = hashlib.sha256(f"{scheme.algorithm} {_build_hash(header)}".encode()).hexdigest()
    folder = cache_folder() / f"{exported.provenance.sha256[:16]}-{key[:16]}"
    module = folder / f"{scheme.module}.ko"
    if not module.is_file():
        _build(model_name(exported.provenance.name), header, folder, scheme)
    return module


def _build_hash(header: str) -> str:
    digest = hashlib.sha256(header.encode())
    sources = [BUILD_SCRIPT, *(KERNEL_SOURCES / name for name in ("Kbuild", "VERSION"))]
    sources += [file for folder in ("compat", "ndm") for file in sorted((KERNEL_SOURCES / folder).iterdir())]
    for file in sources:
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    digest.update(sha256(KERNEL).encode())
    return digest.hexdigest()


def _build(model: str, header: str, folder: Path, scheme: Scheme) -> None:
    """Build into a temporary folder, then rename it, because two comparisons may build the same model."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".build-", dir=folder.parent))
    try:
        weights = work / f"{model}.h"
        weights.write_text(header)
        done = subprocess.run(
            [str(BUILD_SCRIPT), str(work), str(KERNEL_TREE), str(weights), scheme.algorithm],
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
