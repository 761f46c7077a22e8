"""The environments on the real lab: checkers, the closed loop, repeatability, and nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from env import ENV_ID
from env.checkout import ROOT
from env.gym.ndm_env import NdmEnv
from env.gym.vector_env import NdmVectorEnv

BDP_PACKETS = 66  # 20 Mbit/s, 40 ms


@pytest.fixture
def bottleneck() -> Iterator[NdmEnv]:
    made = NdmEnv("bottleneck", episode_decisions=10**6, episode_s=1e4)
    yield made
    made.close()


def toward(cwnd: float, info: dict[str, Any]) -> npt.NDArray[np.float32]:
    """Return the action that brings the window nearest to `cwnd`."""
    return np.array([np.clip(np.log2(cwnd / info["cwnd"]), -1, 1), 0], np.float32)


def test_gymnasium_checker() -> None:
    made = NdmEnv("mixed", episode_decisions=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # the rendering check needs render modes; limits of 8 are those of the format
        check_env(made, skip_render_check=True)
    made.close()


def test_stable_baselines_checker() -> None:
    made = NdmEnv("mixed", episode_decisions=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env_sb3(made, warn=True)
    made.close()


def test_the_loop_is_closed(bottleneck: NdmEnv) -> None:
    """Too small a window wastes the link, a BDP fills it, a huge one adds delay and loss; the reward knows."""
    seen = {}
    for name, cwnd in (("small", 8.0), ("right", 1.05 * BDP_PACKETS), ("huge", 4.0 * BDP_PACKETS)):
        _, info = bottleneck.reset(seed=1)
        rows = []
        for _ in range(150):
            _, reward, _, _, info = bottleneck.step(toward(cwnd, info))
            rows.append([reward, info["goodput_mbps"], info["rtt_ms"], info["loss_rate"]])
        seen[name] = np.mean(rows[50:], axis=0)
    (small, small_mbps, small_rtt_ms, _), (right, mbps, rtt_ms, loss), (huge, huge_mbps, huge_rtt_ms, huge_loss) = (
        seen.values()
    )
    assert small_mbps < 4
    assert small_rtt_ms < 44
    assert mbps > 18
    assert rtt_ms < 50
    assert loss == 0
    assert huge_mbps > 15
    assert huge_rtt_ms > 70
    assert huge_loss > 0.05
    assert right > small + 0.2
    assert right > huge + 0.2


def play(made: NdmEnv, seed: int, decisions: int) -> list[tuple[bytes, float, float]]:
    """A fixed sequence of actions over several episodes."""
    rng = np.random.default_rng(0)
    observation, info = made.reset(seed=seed)
    rows = [(observation.tobytes(), 0.0, float(info["now_us"]))]
    for _ in range(decisions):
        action = rng.uniform(-0.3, 0.4, 2).astype(np.float32)
        observation, reward, _, truncated, info = made.step(action)
        rows.append((observation.tobytes(), reward, float(info["now_us"])))
        if truncated:
            observation, info = made.reset()
            rows.append((observation.tobytes(), 0.0, float(info["now_us"])))
    return rows


def test_seeds_repeat() -> None:
    made = NdmEnv("mixed", episode_decisions=40)
    first = play(made, 11, 200)
    assert play(made, 11, 200) == first
    assert play(made, 12, 200) != first
    made.close()


def test_vector_equals_single() -> None:
    """Worker n with seed s is the single environment with seed s + n, episode after episode."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-0.3, 0.4, (150, 2, 2)).astype(np.float32)
    several = NdmVectorEnv(2, "mixed", episode_decisions=40)
    observations, _ = several.reset(seed=20)
    rows = [[observations[n].tobytes()] for n in range(2)]
    for action in actions:
        observations, rewards, _, truncated, infos = several.step(action)
        for n in range(2):
            if truncated[n]:
                rows[n].append(infos["final_obs"][n].tobytes())
            rows[n] += [rewards[n], observations[n].tobytes()]
    several.close()
    for n in range(2):
        made = NdmEnv("mixed", episode_decisions=40)
        observation, _ = made.reset(seed=20 + n)
        expected: list[bytes | float] = [observation.tobytes()]
        for action in actions[:, n]:
            observation, reward, _, over, _ = made.step(action)
            if over:
                expected.append(observation.tobytes())
                observation, _ = made.reset()
            expected += [reward, observation.tobytes()]
        made.close()
        assert rows[n] == expected


def test_without_a_seed_the_lab_goes_on(bottleneck: NdmEnv) -> None:
    _, info = bottleneck.reset(seed=1)
    lab = bottleneck.episode.lab
    _, after = bottleneck.reset(options={"scenario": "fiber"})
    assert bottleneck.episode.lab is lab
    assert after["now_us"] > info["now_us"]
    assert after["path"].tolist() != info["path"].tolist()


def test_every_scenario_gives_decisions(bottleneck: NdmEnv) -> None:
    for name in ("stress", "fiber", "delay_extreme", "delay_moderate", "bottleneck"):
        observation, info = bottleneck.reset(options={"scenario": name})
        goodput = []
        for _ in range(60):
            assert bottleneck.observation_space.contains(observation), name
            observation, reward, terminated, _, info = bottleneck.step(toward(16, info))
            assert np.isfinite(reward)
            assert not terminated
            goodput.append(info["goodput_mbps"])
        assert np.mean(goodput) > 1, name


def group_is_alive(leader: int) -> bool:
    """True when a process of the group runs; one that has ended and waits to be reaped does not."""
    for stat in FilePath("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(group) == leader and state not in "ZX":
            return True
    return False


SCRIPT = """
import sys
import numpy as np
import env
import gymnasium
several = gymnasium.make_vec("NdmTcp-v1", num_envs=2, profile="bottleneck")
several.reset(seed=1)
print("running", *(e.lab.pid for e in several._episodes), flush=True)
try:
    while True:
        several.step(np.zeros((2, 2), np.float32))
except KeyboardInterrupt:
    {on_interrupt}
"""


@pytest.mark.parametrize("on_interrupt", ["several.close()", "raise", "sys.exit(3)"])
def test_interrupted_in_a_step_nothing_is_left(on_interrupt: str) -> None:
    script = SCRIPT.format(on_interrupt=on_interrupt)
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[0] == "running"
        labs = [int(word) for word in words[1:]]
        try:
            assert all(group_is_alive(pid) for pid in labs)
            process.send_signal(signal.SIGINT)
            process.wait(20)
        finally:
            process.kill()
    assert process.returncode is not None
    assert [pid for pid in labs if group_is_alive(pid)] == []


def test_registered_environment_runs() -> None:
    made = gymnasium.make(ENV_ID, profile="bottleneck", episode_decisions=5)
    made.reset(seed=1)
    steps = 0
    truncated = False
    while not truncated:
        _, _, terminated, truncated, _ = made.step(made.action_space.sample())
        steps += 1
        assert not terminated
    assert steps == 5
    made.close()
