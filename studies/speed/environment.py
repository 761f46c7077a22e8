"""Measure the speed of the environment: `make bench-env`, or `python -m studies.speed.environment`.

The path is the bottleneck of 20 Mbit/s and 40 ms. The first measurement is the CPU time of an episode, per run and per
decision. It runs in the lab's kernel as in a training, with the exported policy `mixed`. The second measurement is the
speed of the Gymnasium environment, where the action 0 in place of a policy keeps the link full. The last line is
`workers=2 decisions_per_s=... virtual_speedup=...`, medians over the repetitions; the speed-up is virtual seconds per
wall second and worker.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import NamedTuple

import gymnasium
import numpy as np

from env import ENV_ID
from env.checkout import DATASETS
from env.gym.vector_env import NdmVectorEnv
from env.lab import VirtualLab
from env.profile import PathSampler, load_profile
from env.rollout import RolloutTask, run_episode
from studies.speed.processes import cpu_seconds

POLICY = DATASETS / "models" / "mixed" / "policy.bin"
PROFILE = "bottleneck"
SHORT_EPISODES, EPISODES = 200, 20  # CPU time is counted in steps of 10 ms

FULL_MBPS = 18.0  # least goodput of a full link; an idle link has fewer packets, and the speed would be too high


class Speed(NamedTuple):
    """The speed in one repetition. virtual_speedup: virtual s per wall s of one worker."""

    decisions_per_s: float
    virtual_speedup: float
    goodput_mbps: float


def measure(workers: int, repetitions: int, decisions: int) -> list[Speed]:
    """Return the speed in each repetition of `decisions` decisions per worker. Raises LabError."""
    env = gymnasium.make_vec(ENV_ID, num_envs=workers, profile=PROFILE, episode_decisions=2**31, episode_s=1e6)
    assert isinstance(env, NdmVectorEnv)
    try:
        _, infos = env.reset(seed=1)
        actions = np.zeros((workers, 2), np.float32)  # [N, A]
        speeds = []
        for repetition in range(repetitions + 1):  # warm-up: the first one fills the link
            virtual_us, begun, goodput = float(infos["now_us"].sum()), time.perf_counter(), 0.0
            for _ in range(decisions):
                _, _, _, _, infos = env.step(actions)
                goodput += infos["goodput_mbps"].sum()
            wall_s = time.perf_counter() - begun
            if repetition:
                virtual_s = (float(infos["now_us"].sum()) - virtual_us) / 1e6 / workers
                speeds.append(Speed(workers * decisions / wall_s, virtual_s / wall_s, goodput / decisions / workers))
        return speeds
    finally:
        env.close()


class EpisodeCost(NamedTuple):
    """CPU time in one repetition. run_ms: of an episode with one decision. decision_us: of each further decision."""

    run_ms: float
    decision_us: float


def measure_episodes(repetitions: int) -> list[EpisodeCost]:
    """Return the cost of episodes of the profile in one lab, for each repetition. Raises LabError."""
    profile, model = load_profile(PROFILE), POLICY.read_bytes()
    decisions = profile.episode_decisions
    episode_config = PathSampler(profile).draw(np.random.default_rng(1))
    costs = []
    with VirtualLab(seed=1) as lab:

        def cpu_s(length: int, episodes: int) -> float:
            noise = np.zeros((1, length, 2), np.int16)
            begun = cpu_seconds(lab)
            for seed in range(episodes):
                run_episode(lab, RolloutTask(model, episode_config, seed, noise, length, profile.episode_s))
            return (cpu_seconds(lab) - begun) / episodes

        cpu_s(1, 1)  # boots the lab
        for _ in range(repetitions):
            run_s, episode_s = cpu_s(1, SHORT_EPISODES), cpu_s(decisions, EPISODES)
            costs.append(EpisodeCost(run_s * 1e3, (episode_s - run_s) / (decisions - 1) * 1e6))
    return costs


def main(argv: list[str] | None = None) -> int:
    """Print the figures; return 1 if the link was not full."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--decisions", type=int, default=2000, help="per worker and repetition")
    arguments = parser.parse_args(argv)
    status = 0
    run_ms, decision_us = (
        statistics.median(column) for column in zip(*measure_episodes(arguments.repetitions), strict=True)
    )
    print(f"an episode: {run_ms:.1f} ms of CPU for its run, and {decision_us:.0f} us for each decision")
    for workers in (1, 2):
        speeds = measure(workers, arguments.repetitions, arguments.decisions)
        rate, speedup, goodput = (statistics.median(column) for column in zip(*speeds, strict=True))
        slowest, fastest = (end(speed.decisions_per_s for speed in speeds) for end in (min, max))
        print(
            f"{workers} worker{'s'[: workers - 1]}: {goodput:.2f} Mbit/s goodput, {rate:.0f} decisions/s "
            f"({slowest:.0f} to {fastest:.0f}), {speedup:.0f} virtual s per wall s and worker"
        )
        if goodput < FULL_MBPS:
            print(f"error: the link is not full: {goodput:.2f} of at least {FULL_MBPS:g} Mbit/s", file=sys.stderr)
            status = 1
    print(f"workers={workers} decisions_per_s={rate:.0f} virtual_speedup={speedup:.0f}")
    return status


if __name__ == "__main__":
    sys.exit(main())
