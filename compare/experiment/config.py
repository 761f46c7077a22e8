"""The options of compare.py with their types and meaning, and checks whose errors name the valid values."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from compare.experiment.changes import NETWORKS
from compare.experiment.labs import LABS, REAL_TIME
from env.checkout import CONFIGS
from env.config_errors import explained
from env.errors import UserError, suggest
from env.network.scenario import scenario_names
from env.network.scenario_files import SUFFIXES
from env.network.schemes import ALL, DEFAULT_SCHEMES
from env.options import check_dashes, check_limits, option
from env.pool import check_runner

FOLDER = CONFIGS / "compare"
NAME = "compare"
MAX_JOBS = 1024
PARAMETER_OF_INSMOD = re.compile(r"\+[A-Za-z0-9_-]+=[^+,\]]*")  # what a user may write after mine@tcp_mine.c


@dataclass
class CompareConfig:
    """The options of configs/compare/compare.yaml and of the command line."""

    scenario: Any = option(
        "bottleneck",
        "a scenario of configs/scenario, a family of scenarios such as nv, a .yaml file of your own, a folder of such "
        "files, or a list of them; docs/guides/own-network.md",
    )
    path: dict[str, Any] = option(
        {},
        "path.FIELD=VALUE changes the paths of all scenarios: path.rate_mbps=50; several values are a sweep, with a "
        "scenario for each: path.rate_mbps=1,10,100",
    )
    rack: dict[str, Any] = option({}, "rack.FIELD=VALUE changes the racks of all scenarios in the same way")
    chain: dict[str, Any] = option(
        {},
        "chain.FIELD=VALUE changes all links of all chains in the same way; chain.link2.FIELD=VALUE the second link "
        "only: chain.link2.rate_mbps=5,10,20",
    )
    targets: Any = option(
        None,
        "judge the schemes against all targets (all), or some of them, in place of scenarios; docs/results/targets.md",
    )
    schemes: Any = option(
        None,
        "cubic, ndm, ... (--help lists them), ndm@MODEL of the zoo (datasets/models), ndm@RUN, ndm@rules/NAME.yaml, "
        "ndm@untrained, window@PACKETS, your own as "
        "NAME@PATH/tcp_NAME.c (docs/guides/own-congestion-control.md), or a list; "
        f"default: the scenario's own, or {', '.join(DEFAULT_SCHEMES)}; with targets= it is {ALL}",
    )
    rival: str | None = option(None, "scheme of the flows that are not under test; default: the scenario's own")
    seeds: int = option(10, "runs per scenario and scheme; their seeds are 1, 2, ...")
    duration_s: float | None = option(
        None, "virtual seconds of each run, for a quick look; default: the scenario's own"
    )
    sample_ms: int = option(50, "virtual milliseconds between two samples of sender and receiver")
    output_dir: str | None = option(None, "folder of the results; default: results/NAME, named after the experiment")
    reuse: str | None = option(
        None,
        "folder of another comparison, or of targets; its runs are taken where nothing that they depend on has changed",
    )
    jobs: int | None = option(None, "labs side by side; default: one per core")
    memory_mb: int = option(
        1024, "memory of each lab, for lab=virtual and lab=vm; the machine provides it only as the lab uses it", ge=256
    )
    lab: str = option(
        "virtual",
        "kernel of the runs: virtual (the lab kernel), or in real time vm (the distribution's, under QEMU) or host "
        "(this machine's, as root); docs/guides/compare.md",
    )
    kernel: str | None = option(
        None, "lab kernel by name (make lab-kernel KERNEL=NAME), for lab=virtual; SCHEME%NAME names it for one scheme"
    )
    vm_kernel: str = option("6.12", "version of the kernel, for lab=vm")
    runner: str = option("local", "where runs are made: local (this machine), or ray (a Ray cluster; needs `make ray`)")
    ray_address: str | None = option(
        None, "address of the Ray cluster, HOST:PORT or auto; default: start one on this machine for the runs"
    )
    trust: bool = option(False, "build congestion controls that a scenario names, not the command")
    report: str | None = option(None, "folder of a comparison whose report to write again, without new runs")


ConfigStore.instance().store(name="compare_schema", node=CompareConfig)


def check_command_line(overrides: Sequence[str]) -> None:
    """Compose the configuration before Hydra does, to report errors more clearly. overrides: as quoted() returns them.

    Does nothing for sweeps (``-m``) and other flags of Hydra. Raises UserError for an unknown key (with near matches
    and all keys) and for a value of the wrong type.
    """
    known = [field.name for field in fields(CompareConfig)]
    check_dashes(overrides, known)
    if any(override.startswith("-") for override in overrides):
        return
    for override in overrides:
        key = override.split("=", 1)[0].lstrip("+~")
        if key in NETWORKS:
            raise UserError(f"{override!r} changes a whole {key}; change its fields, as {key}.rate_mbps=50")
        if "=" not in override or key.split(".")[0] not in [*known, "hydra"]:
            scenario = override in scenario_names() or override.endswith(SUFFIXES)
            hint = f": did you mean scenario={override}? " if scenario else suggest(key, known, limit=2)
            raise UserError(f"{override!r} is no option{hint}The options are KEY=VALUE with {', '.join(known)}")
        if key in ("schemes", "rival") and (parameter := PARAMETER_OF_INSMOD.search(override)):
            right = parameter[0].replace("=", ":")
            raise UserError(f"{override}: a module's parameter is NAME:VALUE; write {right} for {parameter[0]}")
    given = [override.split("=", 1)[0].lstrip("+") for override in overrides]
    for key in given:
        if given.count(key) > 1 and key.partition(".")[0] in NETWORKS:
            raise UserError(f"{key} is given twice; several values are a sweep: {key}=1,10,100")
    own = {"scenario", "rival", *(key for key in given if key.partition(".")[0] in NETWORKS)}
    if "targets" in given and (beside := sorted(set(given) & own)):
        raise UserError(f"targets have their own scenarios: leave out {' and '.join(beside)}")
    with explained(), initialize_config_dir(str(FOLDER), version_base="1.3"):
        compose(NAME, list(overrides))


def read_config(composed: DictConfig) -> CompareConfig:
    """Return the checked options. Raises UserError."""
    with explained():
        config = OmegaConf.to_object(composed)
    assert isinstance(config, CompareConfig)
    for name in ("scenario", "targets", "schemes"):
        value = getattr(config, name)
        if value is None and name != "scenario":
            continue
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(entry, str) for entry in names):
            raise UserError(f"{name} is {value!r}; it must be a name or a list of names such as {name}=[a,b]")
        setattr(config, name, names)
    check_runner(config.runner, config.ray_address)
    check_limits(config)
    if config.lab not in LABS:
        raise UserError(f"lab is {config.lab!r}; it is one of {', '.join(LABS)}")
    if config.lab in REAL_TIME and config.kernel is not None:
        raise UserError(f"kernel is {config.kernel!r}, a kernel of lab=virtual; lab=vm has vm_kernel=")
    if config.lab in REAL_TIME and (config.runner != "local" or config.jobs not in (None, 1)):
        raise UserError(f"lab={config.lab} runs in real time, one lab at a time: leave out runner and jobs")
    if config.jobs is not None and config.runner == "ray":
        raise UserError("jobs is for runner=local; a Ray cluster has a lab on each of its cores")
    if config.jobs is not None and not 1 <= config.jobs <= MAX_JOBS:
        raise UserError(f"jobs is {config.jobs}; it is the number of labs side by side, from 1 to {MAX_JOBS}")
    return config


def jobs(config: CompareConfig) -> int:
    """Return the number of labs side by side; one in real time, because a second one would delay it."""
    if config.lab in REAL_TIME:
        return 1
    return config.jobs or len(os.sched_getaffinity(0))
