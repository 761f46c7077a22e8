"""Compare Stable-Baselines3's PPO with a training run: same profile, seed, number of decisions and evaluation paths.

    python -m studies.learning.stable_baselines runs/bottleneck-seed1     # on the paths of SCENARIOS
    python -m studies.learning.stable_baselines runs/a runs/b --scenarios bottleneck loss/1pct --seeds 5

The library runs with its defaults, an MLP of 2 x 64 units without memory, on `NdmTcp-v1`. Its policy is saved as
sb3.zip in the run's folder; it is trained only if this file is missing or has fewer decisions. Both policies decide in
float through the environment; studies.learning.precision compares float with int16.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3 import PPO
from tqdm import tqdm

from env.gym.ndm_env import NdmEnv
from env.lab import LabError
from env.markdown import markdown_table
from env.network.scenario import ScenarioError
from env.profile import ProfileError, profile_from_config, scenario_episode_config
from export import checkpoint
from export.checkpoint import CheckpointError
from studies.learning.precision import METRIC_NAMES, Means, float_policy, parse, run_on_host

SCENARIOS = ("bottleneck", "stress", "loss/1pct", "buffers/50mbit_100ms_1bdp")
FILE_NAME = "sb3.zip"


class Row(NamedTuple):
    """A run on a path: the means over the seeds, with NDM's policy and with that of Stable-Baselines3."""

    run: str
    scenario: str
    ndm: Means
    sb3: Means


def train(env: NdmEnv, file: Path, seed: int, decisions: int) -> PPO:
    """Return the file's PPO, trained for `decisions` decisions in all; an interrupted training is saved too.

    Raises LabError and KeyboardInterrupt.
    """
    learner = PPO.load(file, env) if file.exists() else PPO("MlpPolicy", env, seed=seed, device="cpu")
    left = decisions - learner.num_timesteps
    if left > 0:
        try:
            with tqdm(total=decisions, initial=learner.num_timesteps, unit=" decisions") as bar:

                def show_progress(*_: object) -> bool:
                    bar.update()
                    return True

                learner.learn(left, show_progress, reset_num_timesteps=False)
        finally:
            learner.save(file)
    return learner


def mean(episodes: Sequence[Means]) -> Means:
    """Return the means over episodes."""
    return Means(*np.mean(episodes, axis=0).tolist())


def compare(run: Path, scenarios: Sequence[str], seeds: Sequence[int], decisions: int) -> list[Row]:
    """Train PPO of Stable-Baselines3 as long as the run, and run both policies on each scenario with each seed.

    Raises CheckpointError, ProfileError, ScenarioError and env.lab's LabError.
    """
    saved: dict[str, Any] = checkpoint.load(run)
    profile = profile_from_config(saved["config"]["profile"])
    for scenario in scenarios:
        scenario_episode_config(scenario)  # an unknown scenario fails before the training
    print(f"{run.name}: PPO of Stable-Baselines3, {saved['decisions']:,} decisions", file=sys.stderr, flush=True)
    with NdmEnv(profile) as env:
        learner = train(env, run / FILE_NAME, saved["config"]["seed"], saved["decisions"])

    def sb3_policy(observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        action: npt.NDArray[np.float32] = learner.predict(observation, deterministic=True)[0]
        return action

    rows = []
    with NdmEnv(profile, episode_decisions=decisions) as env:
        for scenario in scenarios:
            print(f"{run.name}: {scenario}", file=sys.stderr, flush=True)
            ndm = [run_on_host(env, float_policy(saved["policy"]), scenario, seed) for seed in seeds]
            sb3 = [run_on_host(env, sb3_policy, scenario, seed) for seed in seeds]
            rows.append(Row(run.name, scenario, mean(ndm), mean(sb3)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table."""
    heads = ["run", "path"]
    for metric in METRIC_NAMES:
        heads += [f"{metric}: NDM", "SB3"]
    texts = []
    for row in rows:
        texts.append([row.run, row.scenario])
        for ndm, sb3, form in zip(row.ndm, row.sb3, (".2f", ".2f", ".3f"), strict=True):
            texts[-1] += [f"{ndm:{form}}", f"{sb3:{form}}"]
    return markdown_table(heads, texts)


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.learning.stable_baselines",
        description="Compare Stable-Baselines3's PPO with training runs.",
    )
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs")
    arguments = parse(parser, argv, SCENARIOS)
    torch.set_num_threads(1)
    try:
        seeds = range(1, arguments.seeds + 1)
        measured = [compare(run, arguments.scenarios, seeds, arguments.decisions) for run in arguments.runs]
        print(table([row for rows in measured for row in rows]))
    except (CheckpointError, LabError, ProfileError, ScenarioError) as error:
        print(f"baseline: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("baseline: interrupted; trained policies are kept, and the same command continues", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
