"""Compare congestion controls in the lab: ``python compare.py scenario=stress``; options in compare/config.py."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

import hydra
from omegaconf import DictConfig

from compare.command import Interrupted, draw, measure
from compare.config import FOLDER, NAME, check_command_line, read_config
from compare.errors import CompareError
from env.lab import LabError


@hydra.main(version_base="1.3", config_path=str(FOLDER), config_name=NAME)
def run(composed: DictConfig) -> None:
    """One comparison; status 1 with one paragraph on an error, 1 when a run failed, 130 when interrupted."""
    try:
        config = read_config(composed)
        failed = draw(Path(config.report)) if config.report else measure(config)
    except (CompareError, LabError) as error:
        sys.exit(f"compare.py: {error}")
    except Interrupted as error:
        print(f"\n{error}", file=sys.stderr)
        sys.exit(130)
    if failed:
        sys.exit(1)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """The command line."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        check_command_line(sys.argv[1:])
    except CompareError as error:
        sys.exit(f"compare.py: {error}")
    run()


if __name__ == "__main__":
    main()
