"""Compare float with int16: the same weights on the same paths, in float on the host and in int16 in the kernel.

    python -m compare.studies.precision runs/NAME                # the paths of SCENARIOS, seeds 1 to 3
    python -m compare.studies.precision runs/NAME --scenarios stress loss/1pct --seeds 5 --decisions 1000

The float policy is the torch network of the training and decides through the Gymnasium environment. The int16 model is
what `make export-weights` writes, and decides in the lab's kernel. On both sides a seed has the same random numbers,
the reward has the weights of the run's profile, and there is no exploration noise.
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
from env.gym.episode import boot_lab
from env.gym.ndm_env import NdmEnv
from env.lab import Lab, LabError
from env.network.scenario import ScenarioError
from env.profile import Profile, ProfileError, profile_from_config, scenario_episode_config
from env.rollout import RolloutTask, run_episode
from env.trajectory import trajectories
from export import checkpoint
from export.checkpoint import CheckpointError
from export.formats.model_file import model_file
from export.integer.model import ExportError
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

Floats = npt.NDArray[np.float64]
Decide = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


class Played(NamedTuple):
    """One run: mean goodput, Mbit/s, and mean queueing delay, ms, over virtual time; mean reward of a decision."""

    goodput_mbps: float
    queueing_delay_ms: float
    reward: float


class Row(NamedTuple):
    """The runs on one path, with the same seeds in float and in int16."""

    scenario: str
    in_float: list[Played]
    in_int16: list[Played]


def float_policy(weights: dict[str, torch.Tensor]) -> Decide:
    """Return the policy of one connection, from observation [D] to mean action [A], in float as in training."""
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


def play_through_gymnasium(env: NdmEnv, decide: Decide, scenario: str, seed: int) -> Played:
    """Run one episode with the decisions of a policy on the host."""
    observation, _ = env.reset(seed=seed, options={"scenario": scenario})
    rewards, infos, over = [], [], False
    while not over:
        observation, reward, _, over, info = env.step(decide(observation))
        rewards.append(float(reward))
        infos.append((info["goodput_mbps"], info["queueing_delay_ms"], info["interval_us"]))
    goodput, queueing, length = np.array(infos).T
    return _played(goodput, queueing, np.array(rewards), length)


def play_in_kernel(lab: Lab, env: NdmEnv, model: bytes, scenario: str, seed: int) -> Played:
    """Run the same episode with the decisions of the kernel; the lab's own seed does not matter."""
    episode_config, episode = scenario_episode_config(scenario).alone(), env.episode
    noise = np.zeros((1, episode.decisions, len(schema.ACTIONS)), np.int16)
    record = run_episode(lab, RolloutTask(model, episode_config, seed, noise, episode.decisions, episode.duration_s))
    flows = trajectories(record, episode_config, episode.profile.reward)
    if not flows:
        raise LabError(f"the model made fewer than two decisions on {scenario}")
    infos = flows[0].infos
    return _played(infos["goodput_mbps"], infos["queueing_delay_ms"], flows[0].rewards, infos["interval_us"])


def _played(goodput: Floats, queueing: Floats, rewards: npt.NDArray[np.floating], length: Floats) -> Played:
    mean_goodput, mean_queueing = (float(np.average(values, weights=length)) for values in (goodput, queueing))
    return Played(mean_goodput, mean_queueing, float(rewards.mean(dtype=np.float64)))


def compare(run: Path, scenarios: Sequence[str], seeds: Sequence[int], decisions: int) -> list[Row]:
    """Run a training's policy on each scenario with each seed, in float and in int16.

    Raises CheckpointError, ExportError (weights that do not fit int16), ScenarioError and env.lab's LabError.
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
                rows[-1].in_float.append(play_through_gymnasium(env, float_policy(saved["policy"]), scenario, seed))
                rows[-1].in_int16.append(play_in_kernel(lab, env, model, scenario, seed))
    finally:
        env.close()
        lab.close()
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table: means over the seeds on each path, and the largest difference of any seed."""
    heads = ["path"]
    for what in ("goodput, Mbit/s", "queueing delay, ms", "reward"):
        heads += [f"{what}: float", "int16", "largest difference"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    most = np.zeros(len(Played._fields))
    for row in rows:
        one, other = np.array(row.in_float), np.array(row.in_int16)  # [seeds, 3]
        apart = np.abs(one - other).max(axis=0)
        most = np.maximum(most, apart)
        numbers = np.stack([one.mean(axis=0), other.mean(axis=0), apart]).T
        lines.append(_line(row.scenario, numbers))
    lines.append(_line("**largest**", np.stack([np.full(3, np.nan), np.full(3, np.nan), most]).T))
    return "\n".join(lines)


def _line(name: str, numbers: Floats) -> str:
    """Return a row. numbers: [3, 3], goodput, queueing delay and reward by float, int16 and difference."""
    forms = ("{:.2f}", "{:.2f}", "{:.4f}")
    cells = ["" if np.isnan(n) else form.format(n) for form, of in zip(forms, numbers, strict=True) for n in of]
    return f"| {' | '.join([name, *cells])} |"


def parse(parser: argparse.ArgumentParser, argv: Sequence[str], scenarios: Sequence[str]) -> argparse.Namespace:
    """Add the options of the runs, with these default scenarios, and parse; exits if there is nothing to run."""
    parser.add_argument("--scenarios", nargs="+", default=scenarios, help=f"default: {' '.join(scenarios)}")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds 1, 2, ...; default %(default)s")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="decisions of a run; default %(default)s")
    arguments = parser.parse_args(argv)
    if arguments.seeds < 1 or arguments.decisions < 2:
        parser.error(f"seeds is {arguments.seeds} and decisions {arguments.decisions}; at least 1 and 2 are needed")
    return arguments


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m compare.studies.precision",
        description="The same weights in float on the host, in int16 in the kernel.",
    )
    parser.add_argument("run", type=Path, help="folder of a run, or its checkpoint")
    arguments = parse(parser, argv, SCENARIOS)
    try:
        seeds = range(1, arguments.seeds + 1)
        print(table(compare(arguments.run, arguments.scenarios, seeds, arguments.decisions)))
    except (CheckpointError, ExportError, LabError, ProfileError, ScenarioError) as error:
        print(f"precision: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("precision: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
