"""One run of a sweep (`train.py -m`): its folder, and whether it is resumed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from export import checkpoint
from training.config import TrainConfig, read_config, resumed_config
from training.loop import RunError

# do not change a run's result
OWN = ("name", "runs", "resume", "lab", "runner", "ray_address", "checkpoint_every")


def run_folder(config: TrainConfig) -> Path:
    """Return the folder of a population's run; ``config.name`` is the population's."""
    assert config.name is not None
    return Path(config.runs) / config.name / f"{config.name}-{config.seed}"


def is_done(saved: dict[str, Any]) -> bool:
    """Return whether a checkpoint's run has come to its end."""
    return bool(saved.get("card", {}).get("status") == "finished")


def take_up(config: TrainConfig) -> dict[str, Any] | None:
    """Return the checkpoint of a population's run that is there already, to go on with; None for a new one.

    Raises RunError when it was trained with another configuration, or is no run; CheckpointError.
    """
    folder = run_folder(config)
    if checkpoint.checkpoint_path(folder.parent).is_file():
        raise RunError(f"{folder.parent} is a run, not a population: choose another name=")
    if not folder.exists():
        return None
    if not checkpoint.checkpoint_path(folder).is_file():
        raise RunError(f"{folder} is there, but has no checkpoint to go on with: delete it, or choose another name=")
    saved = checkpoint.load(folder)
    there = asdict(read_config(resumed_config(saved["config"], OmegaConf.create(), ())))
    differing = _differences(there, asdict(config))
    if differing:
        raise RunError(
            f"{folder} was trained with another configuration ({'; '.join(differing)}): choose another name=, or give "
            "what it was trained with to go on"
        )
    return saved


def _differences(there: dict[str, Any], here: dict[str, Any], at: str = "") -> list[str]:
    """Say which values two configurations do not share."""
    found = []
    for key in sorted({*there, *here} - set(() if at else OWN)):
        one, other = there.get(key), here.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            found += _differences(one, other, f"{at}{key}.")
        elif one != other:
            found.append(f"{at}{key} is {one} there and {other} here")
    return found
