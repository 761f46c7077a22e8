"""How fast the environment is: `make bench-env`, or `python -m env.bench`.

On the bottleneck of 20 Mbit/s and 40 ms, with the link kept full by a fixed rule in place of a policy. The last line is
`workers=2 decisions_per_s=... virtual_speedup=...`: medians over the repetitions; the speed-up is virtual seconds per
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
from env.vector_env import NdmVectorEnv

# The rule: 67 packets fill the wire, one waits at the bottleneck.
CWND = 68
FULL_MBPS = 18.0  # below it the link was not full, and the figures would flatter


class Speed(NamedTuple):
    """Of one repetition. virtual_speedup: virtual s per wall s of one worker."""

    decisions_per_s: float
    virtual_speedup: float
    goodput_mbps: float


def measure(workers: int, repetitions: int, decisions: int) -> list[Speed]:
    """Return the speed of each repetition, `decisions` per worker. Raises LabError."""
    env = gymnasium.make_vec(ENV_ID, num_envs=workers, profile="bottleneck", episode_decisions=2**31, episode_s=1e6)
    assert isinstance(env, NdmVectorEnv)
    try:
        _, infos = env.reset(seed=1)
        actions = np.zeros((workers, 2), np.float32)  # [N, A]
        speeds = []
        for repetition in range(repetitions + 1):  # the first fills the link
            virtual_us, begun, goodput = float(infos["now_us"].sum()), time.perf_counter(), 0.0
            for _ in range(decisions):
                np.log2(CWND / infos["cwnd"], out=actions[:, 0], casting="same_kind")
                _, _, _, _, infos = env.step(actions)
                goodput += infos["goodput_mbps"].sum()
            wall_s = time.perf_counter() - begun
            if repetition:
                virtual_s = (float(infos["now_us"].sum()) - virtual_us) / 1e6 / workers
                speeds.append(Speed(workers * decisions / wall_s, virtual_s / wall_s, goodput / decisions / workers))
        return speeds
    finally:
        env.close()


def main(argv: list[str] | None = None) -> int:
    """Print the figures; return 1 when the link was not full."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--decisions", type=int, default=2000, help="per worker and repetition")
    arguments = parser.parse_args(argv)
    status = 0
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
