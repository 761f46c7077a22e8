"""One run of a sweep (`train.py -m`): its folder, and the checkpoint from which it continues."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from env.errors import UserError
from export import checkpoint
from training.config import read_config, resumed_config
from training.options import TrainConfig

# keys that do not change a run's result
IGNORED = ("name", "runs", "resume", "lab", "runner", "ray_address", "trust", "checkpoint_every")


def run_folder(config: TrainConfig) -> Path:
    """Return the folder of a run in a population; ``config.name`` is the population's name."""
    assert config.name is not None
    return Path(config.runs) / config.name / f"{config.name}-{config.seed}"


def is_done(saved: dict[str, Any]) -> bool:
    """Return whether the run of a checkpoint is complete."""
    return bool(saved["card"]["status"] == "finished")


def saved_run(config: TrainConfig) -> dict[str, Any] | None:
    """Return the checkpoint from which a run of a population continues; None for a new run.

    Raises UserError, also when the run was trained with another configuration, or its folder holds no run.
    """
    folder = run_folder(config)
    if checkpoint.checkpoint_path(folder.parent).is_file():
        raise UserError(f"{folder.parent} is a run, not a population: choose another name=")
    if not folder.exists():
        return None
    if not checkpoint.checkpoint_path(folder).is_file():
        raise UserError(f"{folder} exists, but has no checkpoint to continue from: delete it, or choose another name=")
    saved = checkpoint.load(folder)
    trained = asdict(read_config(resumed_config(saved["config"], OmegaConf.create(), ())))
    differences = _differences(trained, asdict(config))
    if differences:
        raise UserError(
            f"{folder} was trained with another configuration ({'; '.join(differences)}): choose another name=, or "
            "give the same configuration to continue"
        )
    return saved


def _differences(trained: dict[str, Any], given: dict[str, Any], prefix: str = "") -> list[str]:
    """Return a text for each key that differs between two configurations."""
    differences = []
    for key in sorted({*trained, *given} - set(() if prefix else IGNORED)):
        before, now = trained.get(key), given.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            differences += _differences(before, now, f"{prefix}{key}.")
        elif before != now:
            differences.append(f"{prefix}{key} was {before}, and is {now} now")
    return differences
