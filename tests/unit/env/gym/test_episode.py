"""The order of frames, against a lab that insists on it: single and vector environment without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import pytest

import env
from env import schema
from env.errors import UserError
from env.gym.episode import BootLab
from env.gym.ndm_env import NdmEnv
from env.gym.vector_env import NdmVectorEnv
from env.profile.flows import GRACE_S
from env.reward import TERMS
from env.spaces import INFO
from tests.support.fake_lab import INTERVAL_US, FakeLab


class Labs:
    """Boots fake labs and remembers them."""

    def __init__(self, **options: int) -> None:
        self.booted: list[FakeLab] = []
        self.options = options

    def __call__(self, seed: int) -> FakeLab:
        self.booted.append(FakeLab(seed, **self.options))
        return self.booted[-1]


def single(labs: Labs, **arguments: Any) -> NdmEnv:
    return NdmEnv("bottleneck", boot=cast(BootLab, labs), **arguments)


def vector(labs: Labs, count: int, **arguments: Any) -> NdmVectorEnv:
    return NdmVectorEnv(count, "bottleneck", boot=cast(BootLab, labs), **arguments)


HOLD = np.zeros(2, np.float32)


def test_registered() -> None:
    environment = gymnasium.make(env.ENV_ID, profile="bottleneck")
    assert isinstance(environment.unwrapped, NdmEnv)
    several = gymnasium.make_vec(env.ENV_ID, num_envs=3, profile="bottleneck")
    assert isinstance(several, NdmVectorEnv)
    assert several.num_envs == 3
    assert several.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    environment.close()
    several.close()


def test_the_first_version_names_its_successor() -> None:
    with pytest.raises(gymnasium.error.DeprecatedEnv, match=env.ENV_ID):
        gymnasium.make("NdmTcp-v0")


def test_documentation_has_the_schema() -> None:
    text = NdmEnv.__doc__ or ""
    for fields in (schema.ACTIONS, schema.FEATURES):
        for field in fields:
            assert f"`{field.name}` | {field.meaning}" in text
    for name in TERMS:
        assert f"| `{name}` |" in text
    for name in INFO:
        assert name.startswith("reward/") or f"`{name}`" in text


def test_boots_lazily_and_once() -> None:
    labs = Labs()
    environment = single(labs, episode_decisions=3)
    assert labs.booted == []
    for _ in range(3):
        environment.reset()
    assert len(labs.booted) == 1
    assert len(labs.booted[0].runs) == 3
    environment.close()
    environment.close()
    assert labs.booted[0].closed


def test_a_seed_boots_anew() -> None:
    labs = Labs()
    environment = single(labs)
    environment.reset(seed=5)
    environment.step(HOLD)
    environment.reset(seed=5)
    assert [lab.seed for lab in labs.booted] == [5, 5]
    assert labs.booted[0].closed


def test_truncated_by_decisions_never_terminated() -> None:
    environment = single(Labs(), episode_decisions=3)
    environment.reset()
    ends = [environment.step(HOLD)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        environment.step(HOLD)
    environment.reset()
    assert environment.step(HOLD)[3] is False


def test_truncated_by_virtual_time() -> None:
    environment = single(Labs(), episode_s=3.5 * INTERVAL_US / 1e6)
    environment.reset()
    assert [environment.step(HOLD)[3] for _ in range(4)] == [False, False, False, True]


def test_a_stalled_flow_truncates_with_nothing_gained() -> None:
    environment = single(Labs(stalled_after=2), episode_s=10)
    first, info = environment.reset()
    environment.step(HOLD)
    observation, reward, terminated, truncated, stalled = environment.step(HOLD)
    assert truncated
    assert not terminated
    assert stalled["goodput_mbps"] == 0
    assert stalled["reward/goodput"] == 0
    assert stalled["now_us"] == info["now_us"] + (10 + GRACE_S) * 1e6
    assert np.isfinite(reward)
    assert observation.shape == first.shape
    environment.reset()
    assert environment.step(HOLD)[3] is False


def test_observation_of_an_earlier_flow_is_ignored() -> None:
    labs = Labs(late=1)
    lab = single(labs, episode_decisions=3)
    lab.reset(seed=1)
    for _ in range(3):
        first, *_ = lab.step(np.ones(2, np.float32))
    lab.reset()
    for _ in range(3):
        second, *_ = lab.step(np.ones(2, np.float32))
    np.testing.assert_array_equal(first, second)
    assert labs.booted[0].actions == 6 * [(1.0, 1.0)]
    lab.close()


def test_reward_is_the_sum_of_its_terms() -> None:
    environment = single(Labs())
    environment.reset()
    _, reward, _, _, info = environment.step(HOLD)
    assert reward == info["reward/goodput"] + info["reward/delay"] + info["reward/loss"]
    assert info["goodput_mbps"] == pytest.approx(66 * 1448 * 8 / INTERVAL_US)
    assert info["interval_us"] == INTERVAL_US
    assert set(info) == {*INFO, "path"}


def test_arrays_are_not_shared() -> None:
    environment = single(Labs())
    observations = [environment.reset()[0]] + [environment.step(HOLD)[0] for _ in range(3)]
    assert [int(o[0] * 4096) for o in observations] == [0, 1, 2, 3]
    several = vector(Labs(), 2)
    batches = [several.reset(seed=1)[0]] + [several.step(np.zeros((2, 2), np.float32))[0] for _ in range(3)]
    assert [int(o[1, 0] * 4096) for o in batches] == [0, 1, 2, 3]


@pytest.mark.parametrize("options", [{"scenari": "stress"}, {"scenario": "stress", "path": {}}])
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one of scenario, path"):
        single(Labs()).reset(options=options)


def test_options_choose_the_path() -> None:
    labs = Labs()
    environment = single(labs)
    environment.reset(options={"scenario": "stress"})
    environment.reset(options={"path": {"rate_mbps": 5}})
    assert [run[0].rate_mbps for run in labs.booted[0].runs] == [20, 5]
    assert labs.booted[0].runs[0][0].topology == "loopback"


@pytest.mark.parametrize("arguments", [{"episode_decisions": 0}, {"episode_s": 0.0}, {"episode_s": -1.0}])
def test_wrong_lengths(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="it must be"):
        NdmEnv("bottleneck", **arguments)  # type: ignore[arg-type]


def test_unknown_profile() -> None:
    with pytest.raises(UserError, match="The profiles are"):
        gymnasium.make(env.ENV_ID, profile="nosuch")


def test_vector_resets_in_the_same_step() -> None:
    labs = Labs()
    several = vector(labs, 2, episode_decisions=2)
    hold = np.zeros((2, 2), np.float32)
    several.reset(seed=1)
    _, _, _, truncated, infos = several.step(hold)
    assert not truncated.any()
    assert "final_obs" not in infos
    observations, rewards, terminated, truncated, infos = several.step(hold)
    assert truncated.all()
    assert not terminated.any()
    assert (observations[:, 0] == 0).all(), "the next episode's first observation"
    assert [int(o[0] * 4096) for o in infos["final_obs"]] == [2, 2]
    final = infos["final_info"]
    parts = final["reward/goodput"] + final["reward/delay"] + final["reward/loss"]
    assert parts == pytest.approx(rewards)
    assert not infos["_reward/goodput"].any()
    assert infos["_path"].all()
    assert [len(lab.runs) for lab in labs.booted] == [2, 2]


def test_vector_workers_truncate_independently() -> None:
    labs = Labs()
    several = vector(labs, 2, episode_decisions=5)
    several.reset(seed=1)
    labs.booted[1].stalled_after = 2
    hold = np.zeros((2, 2), np.float32)
    several.step(hold)
    observations, _, _, truncated, infos = several.step(hold)
    assert truncated.tolist() == [False, True]
    assert [int(v * 4096) for v in observations[:, 0]] == [2, 0]
    assert infos["final_obs"][0] is None
    assert infos["final_obs"][1] is not None
    assert infos["_reward/goodput"].tolist() == [True, False]


def test_vector_equals_single() -> None:
    several, labs = vector(Labs(), 2), Labs()
    several.reset(seed=7)
    environment = single(labs)
    environment.reset(seed=8)  # worker 1
    for value in (0.5, -0.25, 3.0):
        action = np.array([value, 0.5], np.float32)
        observations, rewards, _, _, infos = several.step(np.stack([action, action]))
        observation, reward, _, _, info = environment.step(action)
        assert (observations[1] == observation).all()
        assert rewards[1] == reward
        for name in INFO:
            assert infos[name][1] == info[name]
        assert (infos["path"][1] == info["path"]).all()
    assert [lab.seed for lab in labs.booted] == [8]


def test_closing_ends_every_lab() -> None:
    labs = Labs()
    several = vector(labs, 3)
    several.reset(seed=1)
    several.close()
    assert [lab.closed for lab in labs.booted] == [True] * 3


@pytest.mark.parametrize("wrong", [[np.nan, 0.0], [0.5], 0.5, [0.5, 0.0, 0.0], "up", None, [[0.5, 0.0]], {"cwnd": 1}])
def test_wrong_action_names_shape_and_range(wrong: Any) -> None:
    alone, several = single(Labs()), vector(Labs(), 2)
    alone.reset(seed=1)
    several.reset(seed=1)
    for environment, action, shape in ((alone, wrong, r"\(2,\)"), (several, [wrong, wrong], r"\(2, 2\)")):
        with pytest.raises(UserError, match=rf"action is .*{shape}.* growth from -1 to 1 and pacing from -1"):
            environment.step(action)
    alone.step([np.inf, -3])  # clipped; and the environment goes on
    several.step([[np.inf, -3], [0, 0]])


def test_profile_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "office.yaml"
    file.write_text("name: office\npaths:\n  alone:\n    rate_mbps: {fixed: 50}\n")
    for profile in (str(file), file):
        environment = gymnasium.make(env.ENV_ID, profile=profile)
        assert cast(NdmEnv, environment.unwrapped).episode.profile.name == "office"
