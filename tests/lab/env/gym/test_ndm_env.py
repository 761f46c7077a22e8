"""The environments on the real lab: the checkers, the closed loop, repeatability, and no lab left behind."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from env import ENV_ID
from env.gym.ndm_env import NdmEnv
from env.gym.vector_env import NdmVectorEnv
from tests.support.commands import group_members, start


@pytest.fixture
def bottleneck() -> Iterator[NdmEnv]:
    with NdmEnv("bottleneck", episode_decisions=10**6, episode_s=1e4) as env:
        yield env


@pytest.mark.parametrize(
    "check",
    # the rendering check of Gymnasium needs render modes
    [lambda env: check_env(env, skip_render_check=True), lambda env: check_env_sb3(env, warn=True)],
    ids=["gymnasium", "stable_baselines"],
)
def test_environment_passes_the_checker(check: Callable[[NdmEnv], object]) -> None:
    with NdmEnv("mixed", episode_decisions=20) as env, warnings.catch_warnings():
        warnings.simplefilter("error")
        check(env)


def test_the_loop_is_closed(bottleneck: NdmEnv) -> None:
    """Slow pacing wastes the link, the least growth fills it, the most growth adds delay; the reward follows."""
    seen = {}
    for name, action in (("slow", (-1, -1)), ("right", (-1, 0)), ("much", (1, 0))):
        bottleneck.reset(seed=1)
        rows = []
        for _ in range(150):
            _, reward, _, _, info = bottleneck.step(np.array(action, np.float32))
            rows.append([reward, info["goodput_mbps"], info["rtt_ms"]])
        seen[name] = np.mean(rows[50:], axis=0)
    (slow, slow_mbps, _), (right, mbps, rtt_ms), (much, much_mbps, much_rtt_ms) = seen.values()
    assert slow_mbps < 18
    assert mbps > 18.5
    assert rtt_ms < 43
    assert much_mbps > 18.5
    assert much_rtt_ms > rtt_ms + 2.5
    assert right > slow + 0.03
    assert right > much + 0.01  # only what exceeds an eighth of the RTT costs


def play(env: NdmEnv, seed: int, decisions: int) -> list[tuple[bytes, float, float]]:
    """Take a fixed sequence of actions over several episodes, and return what was observed."""
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=seed)
    rows = [(observation.tobytes(), 0.0, float(info["now_us"]))]
    for _ in range(decisions):
        action = rng.uniform(-0.3, 0.4, 2).astype(np.float32)
        observation, reward, _, truncated, info = env.step(action)
        rows.append((observation.tobytes(), reward, float(info["now_us"])))
        if truncated:
            observation, info = env.reset()
            rows.append((observation.tobytes(), 0.0, float(info["now_us"])))
    return rows


def test_seeds_repeat() -> None:
    with NdmEnv("mixed", episode_decisions=40) as env:
        first = play(env, 11, 200)
        assert play(env, 11, 200) == first
        assert play(env, 12, 200) != first


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
        with NdmEnv("mixed", episode_decisions=40) as env:
            observation, _ = env.reset(seed=20 + n)
            expected: list[bytes | float] = [observation.tobytes()]
            for action in actions[:, n]:
                observation, reward, _, over, _ = env.step(action)
                if over:
                    expected.append(observation.tobytes())
                    observation, _ = env.reset()
                expected += [reward, observation.tobytes()]
        assert rows[n] == expected


def test_reset_without_a_seed_keeps_the_lab(bottleneck: NdmEnv) -> None:
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
            observation, reward, terminated, _, info = bottleneck.step(np.zeros(2, np.float32))
            assert np.isfinite(reward)
            assert not terminated
            goodput.append(info["goodput_mbps"])
        assert np.mean(goodput) > 1, name


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
def test_interruption_in_a_step_leaves_no_lab(on_interrupt: str) -> None:
    with start("-c", SCRIPT.format(on_interrupt=on_interrupt)) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[0] == "running"
        labs = [int(word) for word in words[1:]]
        try:
            assert all(group_members(pid) for pid in labs)
            process.send_signal(signal.SIGINT)
            process.wait(20)
        finally:
            process.kill()
    assert process.returncode is not None
    assert [pid for pid in labs if group_members(pid)] == []


def test_registered_environment_runs() -> None:
    with gymnasium.make(ENV_ID, profile="bottleneck", episode_decisions=5) as env:
        env.reset(seed=1)
        ends = [env.step(env.action_space.sample())[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
