"""Makes runs, one after the other, in a lab that is kept: booting one takes longer than most runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from compare.errors import CompareError
from compare.experiment.experiment import Run
from env.lab import Lab, LabError, RunResult, VirtualLab
from env.network.schemes import Scheme

# A run that gives no answer for so long hangs. Two servers at 10 Gbit/s each take 3 s of wall time for a virtual second
# on an idle core, and a machine may be busy with much else.
MIN_TIMEOUT_S = 120.0
WALL_PER_VIRTUAL = 30.0


@dataclass(frozen=True)
class Task:
    """A run and what it takes.

    schemes: those of its flows by name, as Experiment.schemes_of() gives them. modules: the .ko files that it needs,
    each with the SHA-256 it must have.
    """

    run: Run
    sample_ms: int
    schemes: dict[str, Scheme]
    modules: dict[Path, str] = field(default_factory=dict)


def virtual_lab() -> Lab:
    """Return a virtual lab, not yet begun; runs bring their own seeds."""
    return VirtualLab(seed=0)


class Worker:
    """One lab at a time. A lab that failed is thrown away; the next run boots another one.

    What a run gives depends on the run alone, and not on what the lab did before (docs/explanation/lab.md).
    """

    def __init__(self, boot: Callable[[], Lab] = virtual_lab) -> None:
        """boot: makes a lab, not yet begun."""
        self._boot = boot
        self._lab: Lab | None = None
        self._lock = threading.Lock()
        self._ended = False

    def make(self, task: Task) -> RunResult:
        """Return the lab's result. Raises LabError, or CompareError when a module is not the one that it should be."""
        lab = self._ready()
        lab.timeout_s = max(MIN_TIMEOUT_S, WALL_PER_VIRTUAL * task.run.scenario.duration_s)
        try:
            return _make(lab, task)
        except BaseException:
            self._drop()
            raise

    def close(self) -> None:
        """End the lab, for good: from another thread too, whose run then fails."""
        with self._lock:
            self._ended = True
        self._drop()

    def _ready(self) -> Lab:
        with self._lock:
            if self._ended:
                raise LabError("the comparison was interrupted")
            if self._lab is None:
                self._lab = self._boot()
                self._lab.start()
            return self._lab

    def _drop(self) -> None:
        with self._lock:
            if self._lab is not None:
                self._lab.close()
                self._lab = None


def _make(lab: Lab, task: Task) -> RunResult:
    run = task.run
    for module in task.modules:
        lab.load(module)
    for scheme in task.schemes.values():
        if scheme.packets:
            _register_window(lab, scheme)
    flows = run.scenario.flows_with(run.scheme.name)
    names = [flow["scheme"] for flow in flows]
    for flow in flows:
        flow["scheme"] = task.schemes[flow["scheme"]].algorithm
    result = lab.run(
        run.scenario.network(),
        flows,
        run.scenario.duration_s,
        sample_ms=task.sample_ms,
        describe=True,
        seed=run.seed,
    )
    for sent, name in zip(result.flows, names, strict=True):
        sent.algorithm, sent.scheme = sent.scheme, name
    environment = result.environment
    loaded = environment["modules"]
    environment["modules"] = {module.stem: loaded[module.stem] for module in task.modules}
    parameters = {module.stem: f"{module.stem}/parameters" for module in task.modules}
    models = {name: f"{scheme.module}/{scheme.algorithm}" for name, scheme in task.schemes.items() if scheme.module}
    settings = _settings(lab, [*parameters.values(), *models.values()])
    environment["parameters"] = {module: settings[folder] for module, folder in parameters.items()}
    environment["models"] = {name: settings[folder] for name, folder in models.items() if settings[folder]}
    for module, sha256 in task.modules.items():
        if loaded[module.stem] != sha256:
            raise CompareError(
                f"{module.name} was rebuilt while the comparison ran, so the runs of {run.scheme.name} would not be of "
                f"one module; compare again, into another output_dir"
            )
    return result


def _register_window(lab: Lab, scheme: Scheme) -> None:
    """Have the kernel register a constant window; one that it has already stays as it is."""
    done = lab.call("shell", command=f"echo {scheme.packets} >/sys/module/{scheme.module}/parameters/packets")
    if done["status"]:
        raise LabError(f"the kernel does not take a window of {scheme.packets} packets: {done['stderr'].strip()}")


def _settings(lab: Lab, folders: list[str]) -> dict[str, dict[str, str]]:
    """Return name to content of the files in folders of /sys/module: modules' parameters, or the facts about models.

    Empty for a folder that is not there: only tcp_ndm has models, and not every module has parameters.
    """
    found: dict[str, dict[str, str]] = {folder: {} for folder in folders}
    if not folders:
        return found
    files = " ".join(f"{folder}/*" for folder in found)
    for line in lab.call("shell", command=f"cd /sys/module && grep -s -d skip . {files} /dev/null")[
        "stdout"
    ].splitlines():
        file, value = line.split(":", 1)
        folder, name = file.rsplit("/", 1)
        found[folder][name] = value
    return found
