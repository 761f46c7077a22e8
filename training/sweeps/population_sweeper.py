"""``train.py -m``: trains each combination of values with each seed, resumes interrupted runs, and reports all of them.

The combinations are those of Hydra's sweeper. Each is a population (training/sweeps/population.py); the same command
always gives it the same name. A run that fails does not affect the others. The report comes at the end.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper, BasicSweeperConf
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import JobReturn, JobStatus

from env.config_errors import single_values

# Keys that are not part of a population's name, because its runs differ in them, or because they do not change results.
UNNAMED = ("seed", "name", "runs", "runner", "ray_address", "checkpoint_every")
UNNAMED_GROUPS = ("lab", "hydra")


@dataclass
class PopulationSweeperConf(BasicSweeperConf):
    """``hydra/sweeper=population``. ``params``: the sweeps that apply unless the command line has others."""

    _target_: str = "hydra_plugins.ndm.PopulationSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="population", node=PopulationSweeperConf, provider="ndm")


class PopulationSweeper(BasicSweeper):
    """Trains populations, and reports each; ends the process with status 1 when a run failed, 130 when stopped."""

    def sweep(self, arguments: list[str]) -> list[Sequence[JobReturn]]:
        """Train the runs of the arguments; return the result of each run."""
        assert self.config is not None
        assert self.launcher is not None
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = parser.parse_overrides([*self._parse_config(), *arguments])
        for override in overrides:
            single_values(override)
        if any(override.key_or_group == "resume" for override in overrides):
            sys.exit("train.py: resume= continues one run, without -m; the same command with -m continues all of them")
        jobs = named(overrides, self.split_arguments(overrides, None)[0])
        self.validate_batch_is_legal(jobs)
        names = dict.fromkeys(job[-1].removeprefix("name=") for job in jobs)
        folders = [Path(self.config.runs) / name for name in names]
        stopped, returns = False, list[JobReturn]()
        try:
            returns = list(self.launcher.launch(jobs, initial_job_idx=0))
        except KeyboardInterrupt:
            stopped = True
        ended = zip(jobs, returns, strict=False)
        failed = [_failure(job, result) for job, result in ended if result.status is JobStatus.FAILED]
        _report(folders)
        if stopped:
            print("\ntrain.py: stopped; the same command continues", file=sys.stderr)
            sys.exit(130)
        if failed:
            sys.exit("\n".join([f"train.py: {len(failed)} of {len(jobs)} runs failed:", *failed]))
        return [returns]


def named(overrides: Sequence[Override], jobs: Sequence[list[str]]) -> list[list[str]]:
    """Return the jobs with the name of their population as the last override.

    The name is that of ``name=``, or else the profile and the other given values, followed by the values that are
    swept.
    """
    given = {o.key_or_group: o for o in overrides if not _is_unnamed(o.key_or_group)}
    swept = {key for key, override in given.items() if override.is_sweep_override()}
    given_name = next((o.get_value_element_as_str() for o in overrides if o.key_or_group == "name"), None)
    first = {"profile": "profile=mixed"}
    named_jobs = []
    for job in jobs:
        values = first | {override.split("=", 1)[0].lstrip("+~"): override for override in job}
        keys = [key for key in values if key in swept or (given_name is None and (key in given or key in first))]
        words = [given_name] if given_name is not None else []
        words += [_word(values[key]) for key in keys]
        others = [override for override in job if not override.startswith("name=")]
        named_jobs.append([*others, f"name={'-'.join(words)}"])
    return named_jobs


def _is_unnamed(key: str) -> bool:
    return key in UNNAMED or key.split("/")[0].split(".")[0] in UNNAMED_GROUPS


def _word(override: str) -> str:
    """Return the value of a group, or the last part of the key and the value, as a part of a folder's name."""
    key, _, value = override.lstrip("+~").partition("=")
    value = re.sub(r".*/|\.ya?ml\b", "", value) if key == "profile" else value  # its file's name
    words = [key.rpartition(".")[2], value] if "." in key else [value]
    return "_".join(re.sub(r"[^A-Za-z0-9_.]+", "_", word).strip("_") for word in words)


def _failure(job: Sequence[str], result: JobReturn) -> str:
    error: Any = result._return_value  # the property raises it
    return f"  {' '.join(job)}: {error}"


def _report(folders: Sequence[Path]) -> None:
    """Print and write the report of the populations that have a trained run."""
    from training.sweeps.population import main  # matplotlib and TensorBoard take a second to load

    trained = [str(folder) for folder in folders if any(folder.glob("*/checkpoint.pt"))]
    if trained:
        main(trained)
