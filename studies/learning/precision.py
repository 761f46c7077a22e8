"""Compare float with int16: the same weights on the same paths, in float on the host and in int16 in the kernel.

    python -m studies.learning.precision runs/NAME                # the paths of SCENARIOS, seeds 1 to 3
    python -m studies.learning.precision runs/NAME --scenarios stress loss/1pct --seeds 5 --decisions 1000

The float policy is the torch network of the training and decides through the Gymnasium environment. The int16 model is
the output of `make export-weights` and decides in the lab's kernel. Both have the same random numbers for a seed, the
reward weights of the run's profile, and no exploration noise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from env import schema
from env.command import command
from env.gym.episode import boot_lab
from env.gym.ndm_env import NdmEnv
from env.lab import Lab, LabError
from env.markdown import markdown_table
from env.profile import Profile, profile_from_config, scenario_episode_config
from env.rollout import RolloutTask, run_episode
from env.trajectory import trajectories
from export import checkpoint
from export.formats.model_file import model_file
from export.zoo import find_checkpoint
from training.policy import Policy

SCENARIOS = (
    "bottleneck",
    "stress",
    "delay_extreme",
    "delay_moderate",
    "fiber",
    "loss/1pct",
    "buffers/50mbit_100ms_1bdp",
)
SEEDS = 3
DECISIONS = 1000
METRIC_NAMES = ("goodput, Mbit/s", "queueing delay, ms", "reward")  # of Means, for tables

Floats = npt.NDArray[np.float64]
Decide = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


class Means(NamedTuple):
    """Means of an episode: goodput and queueing delay over virtual time, reward over decisions."""

    goodput_mbps: float
    queueing_delay_ms: float
    reward: float


class Row(NamedTuple):
    """The episodes on one path, with the same seeds in float and in int16."""

    scenario: str
    in_float: list[Means]
    in_int16: list[Means]


def float_policy(weights: dict[str, torch.Tensor]) -> Decide:
    """Return a policy with a recurrent state of its own, from observation [D] to mean action [A], in float."""
    policy = Policy(len(weights["rnn.bias_ih_l0"]))
    policy.load_state_dict(weights)
    state = torch.zeros(1, 1, policy.hidden)

    @torch.no_grad()
    def decide(observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        nonlocal state
        states, state = policy.rnn(torch.from_numpy(observation)[None, None], state)
        action: npt.NDArray[np.float32] = policy.readout(states)[0, 0].clamp(-1, 1).numpy()
        return action

    return decide


def run_on_host(env: NdmEnv, decide: Decide, scenario: str, seed: int) -> Means:
    """Run one episode with a policy on the host, through the Gymnasium environment."""
    observation, _ = env.reset(seed=seed, options={"scenario": scenario})
    rewards, infos, over = [], [], False
    while not over:
        observation, reward, _, over, info = env.step(decide(observation))
        rewards.append(float(reward))
        infos.append((info["goodput_mbps"], info["queueing_delay_ms"], info["interval_us"]))
    goodput, queueing, interval = np.array(infos).T
    return _means(goodput, queueing, np.array(rewards), interval)


def run_in_kernel(lab: Lab, env: NdmEnv, model: bytes, scenario: str, seed: int) -> Means:
    """Run the same episode with the model in the kernel; the lab's seed does not matter."""
    episode_config, episode = scenario_episode_config(scenario).alone(), env.episode
    noise = np.zeros((1, episode.decisions, len(schema.ACTIONS)), np.int16)
    record = run_episode(lab, RolloutTask(model, episode_config, seed, noise, episode.decisions, episode.duration_s))
    flows = trajectories(record, episode_config, episode.profile.reward)
    if not flows:
        raise LabError(f"the model made fewer than two decisions on {scenario}")
    infos = flows[0].infos
    return _means(infos["goodput_mbps"], infos["queueing_delay_ms"], flows[0].rewards, infos["interval_us"])


def _means(goodput: Floats, queueing: Floats, rewards: npt.NDArray[np.floating], interval: Floats) -> Means:
    mean_goodput, mean_queueing = (float(np.average(values, weights=interval)) for values in (goodput, queueing))
    return Means(mean_goodput, mean_queueing, float(rewards.mean(dtype=np.float64)))


def compare(run: Path, scenarios: Sequence[str], seeds: Sequence[int], decisions: int) -> list[Row]:
    """Run a training's policy on each scenario with each seed, in float and in int16.

    Raises UserError, also for weights that do not fit int16, and env.lab's LabError.
    """
    saved = checkpoint.load(run)
    profile: Profile = profile_from_config(saved["config"]["profile"])
    model, _ = model_file(saved["policy"], run.name, profile.name)
    for scenario in scenarios:
        scenario_episode_config(scenario)  # an unknown scenario fails before the first run
    env, lab = NdmEnv(profile, episode_decisions=decisions), boot_lab(1)
    rows = []
    try:
        for scenario in scenarios:
            rows.append(Row(scenario, [], []))
            for seed in seeds:
                print(f"{scenario}, seed {seed}", file=sys.stderr, flush=True)
                rows[-1].in_float.append(run_on_host(env, float_policy(saved["policy"]), scenario, seed))
                rows[-1].in_int16.append(run_in_kernel(lab, env, model, scenario, seed))
    finally:
        env.close()
        lab.close()
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table: means over the seeds on each path, and the largest difference of any seed."""
    heads = ["path"]
    for metric in METRIC_NAMES:
        heads += [f"{metric}: float", "int16", "largest difference"]
    largest = np.zeros(len(Means._fields))
    texts = []
    for row in rows:
        in_float, in_int16 = np.array(row.in_float), np.array(row.in_int16)  # [seeds, 3]
        difference = np.abs(in_float - in_int16).max(axis=0)
        largest = np.maximum(largest, difference)
        numbers = np.stack([in_float.mean(axis=0), in_int16.mean(axis=0), difference]).T
        texts.append(_texts(row.scenario, numbers))
    texts.append(_texts("**largest**", np.stack([np.full(3, np.nan), np.full(3, np.nan), largest]).T))
    return markdown_table(heads, texts)


def _texts(name: str, numbers: Floats) -> list[str]:
    """Return a row. numbers: [3, 3], goodput, queueing delay and reward by float, int16 and difference."""
    texts = [name]
    for row, form in zip(numbers, (".2f", ".2f", ".4f"), strict=True):
        texts += ["" if np.isnan(value) else f"{value:{form}}" for value in row]
    return texts


def parse(parser: argparse.ArgumentParser, argv: Sequence[str], scenarios: Sequence[str]) -> argparse.Namespace:
    """Add the options of the runs, with these default scenarios, and parse; exits if there is nothing to run."""
    parser.add_argument("--scenarios", nargs="+", default=scenarios, help=f"default: {' '.join(scenarios)}")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds 1, 2, ...; default %(default)s")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="decisions of a run; default %(default)s")
    arguments = parser.parse_args(argv)
    for name, least in (("seeds", 1), ("decisions", 2)):
        if getattr(arguments, name) < least:
            parser.error(f"--{name} is {getattr(arguments, name)}; it must be at least {least}")
    return arguments


@command("precision", LabError)
def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.learning.precision",
        description="The same weights in float on the host, in int16 in the kernel.",
    )
    parser.add_argument("run", help="model of the zoo, folder of a run, or its checkpoint")
    arguments = parse(parser, argv, SCENARIOS)
    seeds = range(1, arguments.seeds + 1)
    print(table(compare(find_checkpoint(arguments.run), arguments.scenarios, seeds, arguments.decisions)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
