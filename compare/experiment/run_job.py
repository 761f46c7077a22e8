"""The job of a comparison: one run of its matrix in a lab. Labs and retries: env/pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import ClassVar

from compare.experiment.experiment import Run
from compare.experiment.run_files import pack
from env.errors import UserError
from env.lab import Lab, LabError, ModuleInTheWay, RunResult
from env.network.networks import Network
from env.network.schemes import Scheme
from env.pool import Pool

# A run that takes longer hangs. Two servers at 10 Gbit/s each take 3 s of wall time per virtual second on an idle core,
# and a busy machine may be ten times slower.
MIN_TIMEOUT_S = 120.0
WALL_PER_VIRTUAL = 30.0


@dataclass(frozen=True)
class RunJob:
    """A run and its files; its result are the files of run_files.pack().

    network: of the run's scenario, with its trace files. schemes: those of its flows by name, as
    Experiment.schemes_of() returns them. modules: its .ko files, each with the required SHA-256. parameters: of those
    modules that get some. models: model files of those schemes that have one, by scheme name.
    """

    run: Run
    network: Network
    sample_ms: int
    schemes: dict[str, Scheme]
    modules: dict[FilePath, str] = field(default_factory=dict)
    parameters: dict[FilePath, str] = field(default_factory=dict)
    models: dict[str, bytes] = field(default_factory=dict)
    cost: ClassVar[float] = 0.0  # equal, so that runs begin in the order of the matrix

    @property
    def timeout_s(self) -> float:
        """See env.pool.Job."""
        return max(MIN_TIMEOUT_S, WALL_PER_VIRTUAL * self.run.scenario.duration_s)

    def __call__(self, lab: Lab) -> dict[str, bytes]:
        """Make the run. Raises LabError, and UserError when a module has another SHA-256."""
        return pack(_make(lab, self))


Outcome = dict[str, bytes] | str  # the files of a run, or the error of its lab


def outcomes(pool: Pool, jobs: Sequence[RunJob]) -> Iterator[tuple[RunJob, Outcome]]:
    """Yield each job with its outcome when it ends.

    Raises UserError when a node of a cluster has other files, or a module was rebuilt meanwhile.
    """
    running = dict(zip(pool.submit(jobs), jobs, strict=True))
    for future in as_completed(list(running)):
        job = running.pop(future)  # the results of a matrix are too large to keep
        try:
            yield job, future.result()
        except LabError as error:
            yield job, str(error)


def _make(lab: Lab, job: RunJob) -> RunResult:
    run = job.run
    try:
        _prepare(lab, job)
    except ModuleInTheWay:  # of an earlier run
        lab.restart()
        _prepare(lab, job)
    for scheme in job.schemes.values():
        if scheme.packets:
            _register_window(lab, scheme)
    flows = run.scenario.flows_with(run.scheme.name)
    for flow in flows:
        flow["algorithm"] = job.schemes[flow["scheme"]].algorithm
    result = lab.run(
        job.network,
        flows,
        run.scenario.duration_s,
        sample_ms=job.sample_ms,
        describe=True,
        seed=run.seed,
    )
    environment = result.environment
    if run.scheme.kernel:
        environment["lab_kernel"] = run.scheme.kernel
    loaded = environment["modules"]
    environment["modules"] = {module.stem: loaded[module.stem] for module in job.modules}
    parameters = {module.stem: f"{module.stem}/parameters" for module in job.modules}
    models = {name: f"{scheme.module}/{scheme.algorithm}" for name, scheme in job.schemes.items() if scheme.module}
    settings = _settings(lab, [*parameters.values(), *models.values()])
    environment["parameters"] = {module: settings[folder] for module, folder in parameters.items()}
    environment["models"] = {name: settings[folder] for name, folder in models.items() if settings[folder]}
    for module, sha256 in job.modules.items():
        if loaded[module.stem] != sha256:
            raise UserError(
                f"{module.name} was rebuilt while the comparison ran, so the runs of {run.scheme.name} have different "
                f"modules; compare again, with another output_dir"
            )
    return result


def _prepare(lab: Lab, job: RunJob) -> None:
    """Load the modules and models of a run, if they are not loaded."""
    for module in job.modules:
        lab.load(module, job.parameters.get(module, ""))
    for name, content in job.models.items():
        lab.set_slot(job.schemes[name].algorithm, content)


def _register_window(lab: Lab, scheme: Scheme) -> None:
    """Register a constant window in the kernel, if it is not registered yet."""
    reply = lab.call("shell", command=f"echo {scheme.packets} >/sys/module/{scheme.module}/parameters/packets")
    if reply["status"]:
        raise LabError(f"the kernel refuses a window of {scheme.packets} packets: {reply['stderr'].strip()}")


def _settings(lab: Lab, folders: list[str]) -> dict[str, dict[str, str]]:
    """Return name to content of the files in folders of /sys/module: parameters of modules, or facts about models.

    Empty for a missing folder: only tcp_ndm has models, and not every module has parameters.
    """
    contents: dict[str, dict[str, str]] = {folder: {} for folder in folders}
    if not folders:
        return contents
    files = " ".join(f"{folder}/*" for folder in contents)
    reply = lab.call("shell", command=f"cd /sys/module && grep -s -d skip . {files} /dev/null")
    for line in reply["stdout"].splitlines():
        file, value = line.split(":", 1)
        folder, name = file.rsplit("/", 1)
        contents[folder][name] = value
    return contents
