"""Train NDM: ``python train.py profile=mixed``; docs/training.md explains the options and metrics."""

from __future__ import annotations

import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from env.lab import LabError
from training import checkpoint
from training.checkpoint import CheckpointError
from training.config import ConfigError, check_command_line, read_config, resumed_config
from training.run import RunError, make_env, new_run_folder, train


@hydra.main(version_base="1.3", config_path="configs", config_name="train")
def run(composed: DictConfig) -> None:
    """One run; ends the process with status 1 and one paragraph on an error, 130 when stopped."""
    try:
        saved = None
        if composed.resume is None:
            config = read_config(composed)
            folder = new_run_folder(config)
        else:
            folder = Path(composed.resume)
            saved = checkpoint.load(folder)
            folder = folder.parent if folder.is_file() else folder
            overrides = HydraConfig.get().overrides.task
            config = read_config(resumed_config(saved["config"], composed, overrides))
        env = make_env(config)
        try:
            finished = train(config, env, folder, saved)
        finally:
            env.close()
    except (ConfigError, RunError, CheckpointError, LabError, ValueError) as error:
        sys.exit(f"train.py: {error}")
    if not finished:
        print(f"\nstopped; go on with: python train.py resume={folder}", file=sys.stderr)
        sys.exit(130)
    print(f"{folder} is trained; export it with: make export-weights RUN={folder}")


def main() -> None:
    """The command line."""
    try:
        check_command_line(sys.argv[1:])
    except ConfigError as error:
        sys.exit(f"train.py: {error}")
    run()


if __name__ == "__main__":
    main()
