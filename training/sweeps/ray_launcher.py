"""``train.py -m hydra/launcher=ray``: runs a sweep side by side on a Ray cluster, each run on cores of one node.

PyPI's hydra-ray-launcher starts the same tasks, but kills them on Ctrl-C before they save, and depends on the forty
packages of its AWS launcher.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict
from tqdm import tqdm

from env.errors import UserError
from env.pool.ray_pool import connect

RETRIES = 3  # of a run whose node or worker process is gone; it goes on from its checkpoint
SAVING_S = 60.0  # wall seconds for runs to save themselves on Ctrl-C


@dataclass
class RayLauncherConf:
    """``hydra.launcher.<name>=`` beside ``hydra/launcher=ray``."""

    _target_: str = "hydra_plugins.ndm.RayLauncher"
    address: str | None = None  # of a running cluster, HOST:PORT or auto; default: one on this machine for the sweep
    cores: Any = "${lab.workers}"  # of each run


ConfigStore.instance().store(group="hydra/launcher", name="ray", node=RayLauncherConf, provider="ndm")


class RayLauncher(Launcher):
    """Runs each job of a sweep as a Ray task. address, cores: as in RayLauncherConf."""

    def __init__(self, address: str | None, cores: int) -> None:
        self._address = address
        self._cores = cores
        self._context: HydraContext
        self._function: TaskFunction
        self._config: DictConfig

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store what launch() needs."""
        self._context, self._function, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
        """Run the jobs; returns their results in the same order. On Ctrl-C they save themselves first.

        Exits with a message of one paragraph when Ray, the cluster or a node with so many cores is missing.
        """
        setup_globals()
        try:
            ray = connect(self._address)
        except UserError as error:
            sys.exit(f"train.py: {error}")
        try:
            self._check_cores(ray.nodes())
            task = ray.remote(num_cpus=self._cores, max_retries=RETRIES)(_run)
            tasks = {}
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
                with open_dict(config):
                    config.hydra.job.id = f"{config.hydra.job.name}_{number}"
                    config.hydra.job.num = number
                state = Singleton.get_state()
                tasks[task.remote(os.getcwd(), self._context, config, self._function, state)] = list(overrides)
            return _wait_for(tasks)
        finally:
            ray.shutdown()

    def _check_cores(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Exit when no node has enough cores for a job: Ray itself would wait for one."""
        largest = max((int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]), default=0)
        if self._cores > largest:
            sys.exit(
                f"train.py: a run takes lab.workers={self._cores} cores, but the largest node of the cluster has "
                f"{largest}: give lab.workers={largest} or less"
            )


def _run(
    folder: str, context: HydraContext, config: DictConfig, function: TaskFunction, state: dict[Any, Any]
) -> JobReturn:
    """Run one job in a worker process of the cluster, in the command's folder, so that relative paths hold."""
    os.chdir(folder)
    setup_globals()
    Singleton.set_state(state)
    HydraConfig.instance().set_config(config)
    return run_job(
        hydra_context=context,
        task_function=function,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )


def _wait_for(tasks: Mapping[Any, list[str]]) -> list[JobReturn]:
    """Wait for the tasks and return their results. tasks: each task's overrides."""
    import ray
    from ray.exceptions import RayError

    returns: dict[Any, JobReturn] = {}
    waiting = list(tasks)
    try:
        with tqdm(total=len(tasks), unit=" runs", dynamic_ncols=True) as bar:
            while waiting:
                done, waiting = ray.wait(waiting, num_returns=1)
                for task in done:
                    try:
                        returns[task] = ray.get(task)
                    except RayError as error:  # the worker process was gone after all retries
                        returns[task] = JobReturn(tasks[task], status=JobStatus.FAILED)
                        returns[task].return_value = error
                    failed = returns[task].status is JobStatus.FAILED
                    status = f"failed: {returns[task]._return_value}" if failed else "done"
                    tqdm.write(f"{' '.join(tasks[task])}: {status}", file=sys.stderr)
                    bar.update()
    except KeyboardInterrupt:
        for task in waiting:
            ray.cancel(task)  # a SIGINT in its worker
        ray.wait(waiting, num_returns=len(waiting), timeout=SAVING_S)
        raise
    return [returns[task] for task in tasks]
