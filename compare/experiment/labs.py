"""The kinds of labs: the virtual lab, a stock kernel in a VM, or the kernel of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from compare.experiment.experiment import Experiment
from env.errors import UserError
from env.files import sha256
from env.lab import GuestFailed, VirtualLab
from env.lab.kernels import LAB, lab_kernel
from env.lab.lab import PROGRAM
from env.lab.module_files import check_release
from env.lab.stock.host import HostLab, modules_folder
from env.lab.stock.kernel import StockKernel
from env.lab.stock.vm import VmLab
from env.lab.virtual import ALWAYS_LOADED
from env.network.scenario import Scenario, scenario_names
from env.network.schemes import ORACLE
from env.own_module import KernelTree, virtual_tree
from env.pool import BootLab

REAL_TIME = ("vm", "host")
LABS = ("virtual", *REAL_TIME)
TRACES = ("sch_linktrace",)
RUNNING_KERNEL = Path("/proc/version")  # identifies the running kernel, whose image may be anywhere


@dataclass(frozen=True)
class LabKind:
    """A kind of lab.

    kernel: its image. modules: the folder of the modules built for it, by the make target `target`. always_loaded:
    those of them that each lab loads. tree: for modules that the user brings. boot: returns a new lab.
    """

    kernel: Path
    modules: Path
    target: str
    always_loaded: tuple[str, ...]
    tree: KernelTree
    boot: BootLab

    def check_modules(self, modules: Iterable[Path]) -> None:
        """Raise UserError for the first module that was built for another kernel."""
        for module in (*(self.modules / f"{name}.ko" for name in self.always_loaded), *modules):
            check_release(module, self.tree.release, f"run `make {self.target}`")

    def check_commands(self, scenarios: Iterable[Scenario]) -> None:
        """Raise UserError for a user's scenario with a tc command that fails; each is tried in a lab."""
        shipped = scenario_names()
        for scenario in scenarios:
            commands = (scenario.path or {}).get("tc")
            if not commands or scenario.name in shipped:
                continue
            with self.boot() as lab:
                lab.call("build", topology="loopback")
                try:
                    for command in commands:
                        lab.call("execute", node="h0", argv=command.split())
                except GuestFailed as error:
                    # tc shows all that netem takes, too
                    lines = str(error).removeprefix("LinkError: h0: ").splitlines()
                    said = " ".join(line for line in lines if not line.startswith((" ", "Usage:")))
                    raise UserError(f"scenario {scenario.name}: {said}") from error


def lab_kind(lab: str, vm_kernel: str, experiment: Experiment, kernel: str = LAB, memory_mb: int = 1024) -> LabKind:
    """Return the kind of lab. kernel: of the virtual lab.

    Raises LabError when it is not built, and UserError for an experiment that a lab in real time cannot run.
    """
    if lab == "virtual":
        return _virtual(kernel, memory_mb)
    _check_real_time(lab, experiment)
    if lab == "host":
        HostLab()
        release = os.uname().release
        headers = Path("/lib/modules", release, "build")
        tree = KernelTree(headers, release, sha256(RUNNING_KERNEL))
        return LabKind(RUNNING_KERNEL, modules_folder(), f"module KDIR={headers}", TRACES, tree, HostLab)
    stock = StockKernel(vm_kernel)
    tree = KernelTree(stock.headers, stock.release, sha256(stock.image))
    return LabKind(
        stock.image, stock.modules, stock.target, TRACES, tree, partial(VmLab, kernel=vm_kernel, memory_mb=memory_mb)
    )


def _virtual(name: str, memory_mb: int) -> LabKind:
    kernel = lab_kernel(name)
    for file, target in ((kernel.image, kernel.kernel_target), (PROGRAM, "module")):
        if not os.path.isfile(file):  # false too where another user's folder hides the file
            raise UserError(f"{file} does not exist: run `make {target}`; if it exists, this user cannot read it")
        if not os.access(file, os.X_OK):
            raise UserError(f"{file} cannot be executed: run `chmod +x {file}`")
    for module in ALWAYS_LOADED:
        if not (kernel.modules / f"{module}.ko").is_file():
            raise UserError(
                f"kernel module {kernel.modules / module}.ko does not exist: run `make {kernel.modules_target}`"
            )
    boot = partial(VirtualLab, seed=0, variant=name, memory_mb=memory_mb)  # each run sets its own seed
    return LabKind(kernel.image, kernel.modules, kernel.modules_target, ALWAYS_LOADED, virtual_tree(name), boot)


def _check_real_time(lab: str, experiment: Experiment) -> None:
    for scheme in experiment.all_schemes():
        if scheme.kernel:
            raise UserError(f"scheme {scheme.name}: kernels by name are of lab=virtual; lab=vm has vm_kernel=")
        if scheme.name == ORACLE:
            raise UserError(
                f"scheme {scheme.name}: its search takes hundreds of runs, too many for real time; use lab=virtual"
            )
    chains = [scenario.name for scenario in experiment.scenarios if scenario.chain is not None]
    if chains:
        raise UserError(
            f"scenario {', '.join(chains)}: lab={lab} has no chains; use lab=virtual, or a scenario with a path"
        )
    racks = [scenario.name for scenario in experiment.scenarios if scenario.rack is not None]
    if racks:
        raise UserError(
            f"scenario {', '.join(racks)}: 10 Gbit/s are too fast for lab={lab}; use lab=virtual, or a scenario with a "
            "path"
        )
