"""Train NDM: ``python train.py profile=mixed``; docs/guides/train.md explains the options and metrics."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from env.command import command  # first: it is what starts train.py again with the Python that has the packages

# isort: split
import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from env.checkout import CONFIGS
from env.config_errors import explained
from env.errors import UserError
from env.lab import LabError
from env.network.own_scheme import require_trust
from env.options import argument, group_lines, option_lines
from env.profile import Profile, own_names
from env.reward import RewardWeights
from export import checkpoint
from training.config import LEARNERS, check_command_line, read_config, resumed_config, values, with_own_profiles
from training.loop import make_labs, new_run_folder, train
from training.options import LabOptions, TrainConfig
from training.sampling.rollout_sampler import RolloutSampler
from training.sampling.rollouts import RolloutWorkers
from training.sweeps import sweep

HELP = """Train NDM in the lab, with the learner that algo= chooses.

  python train.py profile=mixed                            train; Ctrl-C saves and stops
  python train.py resume=runs/NAME                         continue an interrupted run
  python train.py -m profile=mixed                         seeds 1, 2, 3, and a report; the same command continues
  python train.py -m hydra/launcher=joblib lab.workers=1   side by side, a process each
  python train.py -m hydra/launcher=ray lab.workers=1      on a Ray cluster, hydra.launcher.address=HOST:PORT
  python train.py --cfg job                                the whole configuration, profile included

KEY=VALUE, a group's file first, then single keys (default: profile=mixed algo=ppo_long lab=virtual):
"""


ERRORS = (UserError, LabError, OSError)  # printed as one paragraph


def help_text() -> str:
    """Return what --help prints."""
    groups = [line for group in ("profile", "algo", "lab", "debug") for line in group_lines(group)]
    keys = [*option_lines(TrainConfig), *option_lines(LabOptions, "lab.")]
    for kind, learner in LEARNERS.items():
        keys += ["", f"Options of the learner {kind}:", *option_lines(learner.OPTIONS, "algo.")]
    keys += ["", "Options of the profile; profile.paths.NAME.*: env/profile/mixture.py"]
    keys += [*option_lines(Profile, "profile."), *option_lines(RewardWeights, "profile.reward.")]
    return "\n".join([HELP, *groups, "", *keys, "", "Metrics: docs/reference/metrics.md."])


def plan(composed: DictConfig) -> tuple[TrainConfig, Path, dict[str, Any] | None]:
    """Return the configuration, the run's folder and the checkpoint of a resumed run."""
    if composed.resume is None:
        config = read_config(composed)
        return config, new_run_folder(config), None
    run = Path(composed.resume)
    saved = checkpoint.load(run)
    with checkpoint.reading(run):
        config = read_config(resumed_config(saved["config"], composed, HydraConfig.get().overrides.task))
    return config, run.parent if run.is_file() else run, saved


def run_training(config: TrainConfig, folder: Path, saved: dict[str, Any] | None) -> bool:
    """Train; returns False when stopped by Ctrl-C."""
    given = [word for word in HydraConfig.get().overrides.task if word.startswith("profile.")]
    require_trust(own_names(config.profile), given, config.trust)
    try:
        with make_labs(config) as pool:
            workers = RolloutWorkers(config.profile, pool, config.seed, config.algo.rollout_decisions)
            return train(config, folder, saved, RolloutSampler(config, workers))
    except KeyboardInterrupt:  # while the labs boot, or the second one
        return False
    except OSError as error:
        kept = f"; {folder} keeps its last checkpoint" if checkpoint.checkpoint_path(folder).is_file() else ""
        raise UserError(f"{error}{kept}") from error


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="train")
def run(composed: DictConfig) -> None:
    """Run one training; ends the process with status 1 and one paragraph on an error, with 130 when stopped.

    In a sweep it raises UserError or KeyboardInterrupt instead, and continues a run that exists.
    """
    if HydraConfig.get().mode == RunMode.MULTIRUN:
        run_in_sweep(composed)
        return
    try:
        config, folder, saved = plan(composed)
        finished = run_training(config, folder, saved)
    except ERRORS as error:
        sys.exit(f"train.py: {error}")
    if finished:
        print(f"{folder} is trained; export it with: make export-weights {shlex.quote(f'RUN={folder}')}")
        return
    saved_it = checkpoint.checkpoint_path(folder).is_file()
    trust = " trust=true" if own_names(config.profile) else ""
    again = f"; continue with: python train.py {argument('resume', folder)}{trust}"
    how = again if saved_it else " before the training began"
    print(f"\nstopped{how}", file=sys.stderr)
    sys.exit(130)


def run_in_sweep(composed: DictConfig) -> None:
    """Start, continue or skip one training of a sweep. Raises UserError, KeyboardInterrupt."""
    try:
        config = read_config(composed)
        folder, saved = sweep.run_folder(config), sweep.saved_run(config)
        if saved is not None and sweep.is_done(saved):
            print(f"{folder} is trained already")
            return
        finished = run_training(config, folder, saved)
    except ERRORS as error:
        raise UserError(str(error)) from None  # a process of the sweep passes on only the message
    if not finished:
        raise KeyboardInterrupt
    print(f"{folder} is trained")


def with_learner(arguments: list[str]) -> list[str]:
    """Return the arguments. If they resume a run, add its algo=, so that Hydra knows the keys of its learner."""
    run = next((word for word in arguments if word.startswith("resume=")), None)
    if run is None or any(word.startswith("algo=") for word in arguments):
        return arguments
    try:
        folder = Path(values(run)[0])
        with checkpoint.reading(folder):
            kind = checkpoint.load(folder)["config"]["algo"]["kind"]
    except UserError:  # plan() raises it again
        return arguments
    return [*arguments, f"algo={kind}"]


@command("train.py")
def main() -> None:
    """Run the command line."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(help_text())
        return
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors
    # with +KEY=VALUE Hydra would take a key that nothing reads
    sys.argv[1:] = with_learner([with_own_profiles(word.lstrip("+")) for word in sys.argv[1:]])
    check_command_line(sys.argv[1:])
    with explained():
        run()


if __name__ == "__main__":
    sys.exit(main())
