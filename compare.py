"""Compare congestion controls in the lab: ``python compare.py scenario=stress``; ``--help`` lists the options."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from pathlib import Path
from types import FrameType

from env.command import command  # first: it is what starts compare.py again with the Python that has the packages

# isort: split
import hydra
from omegaconf import DictConfig

from compare.command.comparison import draw, measure
from compare.command.measurement import Interrupted
from compare.command.targets import draw_targets, measure_targets
from compare.experiment.changes import quoted
from compare.experiment.config import FOLDER, NAME, CompareConfig, check_command_line, read_config
from compare.targets.catalogue import TARGETS
from compare.targets.stored import holds_targets
from env.config_errors import explained
from env.errors import UserError
from env.lab import LabError
from env.network.scenario import scenario_names
from env.network.schemes import ALL, KINDS, SCHEMES
from env.options import option_lines

HELP = """Compare congestion controls in the lab: schemes x scenarios x seeds; tables, plots, HTML.

  python compare.py scenario=stress
  python compare.py scenario=[stress,fiber] schemes=[ndm,ndm@runs/NAME,cubic] seeds=10 output_dir=results/first
  python compare.py scenario=compete/cubic_1v1 rival=bbr
  python compare.py scenario=PATH/mine.yaml path.buffer_bdp=0.5 path.rate_mbps=1,10,100
  python compare.py targets=all schemes=[ndm,bbr,cubic] output_dir=results/targets
  python compare.py report=results/first          write tables and reports again from the stored files

KEY=VALUE (guide: docs/guides/compare.md; metrics: docs/reference/comparison-metrics.md):
"""


def help_text() -> str:
    """Return what --help prints."""
    names = [
        *textwrap.wrap(f"Schemes: {', '.join([ALL, *SCHEMES, *KINDS])}", 100, subsequent_indent="  "),
        *textwrap.wrap(f"Targets: {', '.join([ALL, *TARGETS])}", 100, subsequent_indent="  "),
        *textwrap.wrap(f"Scenarios: {', '.join(scenario_names())}", 100, subsequent_indent="  "),
    ]
    return "\n".join([HELP, *option_lines(CompareConfig), "", *names])


@hydra.main(version_base="1.3", config_path=str(FOLDER), config_name=NAME)
def run(composed: DictConfig) -> None:
    """Make one comparison. Exit status 1 on an error or when a run failed, 130 when interrupted."""
    try:
        config = read_config(composed)
        failed = _draw(Path(config.report)) if config.report else _measure(config)
    except (UserError, LabError, OSError) as error:
        sys.exit(f"compare.py: {error}")
    except Interrupted as error:
        print(f"\n{error}", file=sys.stderr)
        sys.exit(130)
    if failed:
        sys.exit(1)


def _measure(config: CompareConfig) -> int:
    return measure_targets(config) if config.targets is not None else measure(config)


def _draw(folder: Path) -> int:
    return draw_targets(folder) if holds_targets(folder) else draw(folder)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@command("compare.py")
def main() -> None:
    """The command line."""
    signal.signal(signal.SIGTERM, _interrupt)
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(help_text())
        return
    if {"-m", "--multirun"} & set(sys.argv[1:]):
        raise UserError("there is no -m: one call makes all runs of a sweep such as path.rate_mbps=10,20,40")
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors
    # where Hydra reads them; with +KEY=VALUE it would take a key that nothing reads
    sys.argv[1:] = [quoted(word.lstrip("+")) for word in sys.argv[1:]]
    check_command_line(sys.argv[1:])
    with explained():
        run()


if __name__ == "__main__":
    sys.exit(main())
