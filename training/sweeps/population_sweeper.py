"""``train.py -m``: train each combination of values with each seed, resume what is there, and report all of it.

The combinations are those of Hydra's own sweeper. Each is a population (training/sweeps/population.py) with a name that
is the same whenever the command is; a run that fails leaves the others alone; the report comes at the end.
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

# Not told by a population's name: what all its runs differ in, or what does not change their episode.
UNNAMED = ("seed", "name", "runs", "runner", "ray_address", "checkpoint_every")
UNNAMED_GROUPS = ("lab", "hydra")


@dataclass
class PopulationSweeperConf(BasicSweeperConf):
    """``hydra/sweeper=population``; ``params``: what is swept where the command line does not say."""

    _target_: str = "hydra_plugins.ndm.PopulationSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="population", node=PopulationSweeperConf, provider="ndm")


class PopulationSweeper(BasicSweeper):
    """Trains populations, and reports each; ends the process with status 1 when a run failed, 130 when stopped."""

    def sweep(self, arguments: list[str]) -> list[Sequence[JobReturn]]:
        """Train what the arguments say; returns what became of each run."""
        assert self.config is not None
        assert self.launcher is not None
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = parser.parse_overrides([*self._parse_config(), *arguments])
        if any(override.key_or_group == "resume" for override in overrides):
            sys.exit("train.py: resume= goes on with one run, without -m; the same command with -m goes on with all")
        jobs = named(overrides, self.split_arguments(overrides, None)[0])
        self.validate_batch_is_legal(jobs)
        names = dict.fromkeys(job[-1].removeprefix("name=") for job in jobs)
        folders = [Path(self.config.runs) / name for name in names]
        stopped, returns = False, list[JobReturn]()
        try:
            returns = list(self.launcher.launch(jobs, initial_job_idx=0))
        except KeyboardInterrupt:
            stopped = True
        failed = [_failure(job, one) for job, one in zip(jobs, returns, strict=False) if one.status is JobStatus.FAILED]
        _report(folders)
        if stopped:
            print("\ntrain.py: stopped; the same command goes on", file=sys.stderr)
            sys.exit(130)
        if failed:
            sys.exit("\n".join([f"train.py: {len(failed)} of {len(jobs)} runs failed:", *failed]))
        return [returns]


def named(overrides: Sequence[Override], jobs: Sequence[list[str]]) -> list[list[str]]:
    """Return the jobs with the name of their population as the last override.

    It is ``name=``, or else the profile and what else is given, followed by the values that are swept.
    """
    given = {o.key_or_group: o for o in overrides if not _is_unnamed(o.key_or_group)}
    swept = {key for key, override in given.items() if override.is_sweep_override()}
    own = next((o.get_value_element_as_str() for o in overrides if o.key_or_group == "name"), None)
    first = {"profile": "profile=mixed"}
    found = []
    for job in jobs:
        values = first | {override.split("=", 1)[0].lstrip("+~"): override for override in job}
        told = [key for key in values if key in swept or (own is None and (key in given or key in first))]
        parts = [own] if own is not None else []
        parts += [_word(values[key]) for key in told]
        others = [override for override in job if not override.startswith("name=")]
        found.append([*others, f"name={'-'.join(parts)}"])
    return found


def _is_unnamed(key: str) -> bool:
    return key in UNNAMED or key.split("/")[0].split(".")[0] in UNNAMED_GROUPS


def _word(override: str) -> str:
    """Return the value of a group, or the last part of the key and the value, as a part of a folder's name."""
    key, _, value = override.lstrip("+~").partition("=")
    words = [key.rpartition(".")[2], value] if "." in key else [value]
    return "_".join(re.sub(r"[^A-Za-z0-9_.]+", "_", word).strip("_") for word in words)


def _failure(job: Sequence[str], one: JobReturn) -> str:
    error: Any = one._return_value  # the property raises it
    return f"  {' '.join(job)}: {error}"


def _report(folders: Sequence[Path]) -> None:
    """Print and write what there is of the populations."""
    from training.sweeps.population import main  # here: it loads matplotlib and TensorBoard, which take a second

    trained = [str(folder) for folder in folders if any(folder.glob("*/checkpoint.pt"))]
    if trained:
        main(trained)
