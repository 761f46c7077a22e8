"""The options of ``python -m training.experts record``, written KEY=VALUE as for train.py and compare.py."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from env.config_errors import explain_config_error
from env.expert import DEFAULT_EXPERTS
from env.near import suggest
from env.options import check_limits, option
from env.pool import check_runner
from training.experts.recording import RecordingError


@dataclass
class RecordOptions:
    """The options of `record`."""

    profile: str = option("mixed", "profile of configs/profile with the paths, traffic and reward")
    schemes: list[str] | None = option(None, "experts [a,b,...]; default: [bbr,cubic,illinois]")
    episodes: int = option(64, "episodes drawn from the profile; every expert runs on each of them", ge=1)
    decisions: int | None = option(None, "control intervals of an episode; default: the profile's", ge=1)
    seed: int = option(1, "seed of episodes and labs", ge=0)
    output: str | None = option(None, "file to write; default: build/experts/PROFILE.parquet")
    jobs: int | None = option(None, "labs side by side; default: one per core", ge=1)
    runner: str = option("local", "where episodes run: local (this machine), or ray (a Ray cluster; needs `make ray`)")
    ray_address: str | None = option(
        None, "address of the cluster, HOST:PORT or auto; default: start one on this machine for the recording"
    )

    @property
    def experts(self) -> list[str]:
        """Names of the experts to record."""
        return list(DEFAULT_EXPERTS) if self.schemes is None else self.schemes

    @property
    def file(self) -> Path:
        """The file that the recording is written to."""
        return Path(self.output or f"build/experts/{self.profile}.parquet")

    @property
    def workers(self) -> int:
        """Labs side by side."""
        return self.jobs or len(os.sched_getaffinity(0))


def read_options(arguments: Sequence[str]) -> RecordOptions:
    """Return the checked options. Raises RecordingError, which names the wrong option and the valid keys."""
    known = [entry.name for entry in fields(RecordOptions)]
    for argument in arguments:
        key, equals, _ = argument.partition("=")
        if not equals or key not in known:
            hint = suggest(key, known, limit=1)
            raise RecordingError(f"{argument!r} is no option{hint}The options are KEY=VALUE with {', '.join(known)}")
    try:
        given = OmegaConf.from_dotlist(list(arguments))
        options = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(RecordOptions), given))
    except OmegaConfBaseException as error:
        raise RecordingError(explain_config_error(error)) from error
    except YAMLError as error:
        raise RecordingError(f"{str(error).splitlines()[0]} (in {' '.join(arguments)})") from error
    assert isinstance(options, RecordOptions)
    try:
        check_limits(options)
        check_runner(options.runner, options.ray_address)
    except ValueError as error:
        raise RecordingError(str(error)) from error
    return options
