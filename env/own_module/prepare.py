"""Makes a user's congestion control ready: built, checked, and loaded once to see what it registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from env.lab import Lab
from env.lab.module_files import check_release
from env.network.own_scheme import parse_own_scheme
from env.own_module.bpf import check_bpf
from env.own_module.build import build
from env.own_module.kernel_tree import KernelTree
from env.own_module.module_info import check_parameters
from env.own_module.registered import registered_algorithm
from env.own_module.source import find_source


@dataclass(frozen=True)
class OwnModule:
    """A module that is ready. algorithm: the kernel's name of its congestion control. parameters: for Lab.load()."""

    file: Path
    algorithm: str
    parameters: str


def prepare(scheme: str, kernel: KernelTree, boot: Callable[[], Lab]) -> OwnModule:
    """Return the module of a scheme that the user brings.

    scheme: as parse_own_scheme() takes it. boot: returns a new lab with this kernel. Raises UserError, which says
    what to change, and env.lab.LabError.
    """
    own = parse_own_scheme(scheme)
    source = find_source(own.path)
    module = build(source, kernel, own.name)
    if source.is_bpf:
        check_bpf(module, own.parameters, kernel)
    else:
        if source.is_built:
            command = " ".join([*kernel.make, "M=FOLDER", "modules"])
            check_release(module, kernel.release, f"give its source in place of it, or build it with `{command}`")
        check_parameters(module, own.parameters)
    with boot() as lab:
        return OwnModule(module, registered_algorithm(lab, module, own.parameters, own.name), own.parameters)
