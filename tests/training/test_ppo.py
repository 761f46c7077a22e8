"""The algorithm on small worlds: does it learn what it must, and does it treat the end of an episode rightly?"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toys import Endless, FluidQueue, RememberCue, ToyVector

from training.policy import Critic, Policy, PolicyRunner
from training.ppo import Ppo, PpoOptions, Rollout


def learn(env: ToyVector, options: PpoOptions, seed: int = 1) -> tuple[Ppo, Rollout]:
    torch.set_num_threads(1)
    ppo = Ppo(env, options, seed)
    rollout = None
    while ppo.decisions < options.total_decisions:
        rollout = ppo.collect()
        assert rollout is not None
        ppo.update(rollout)
    assert rollout is not None
    return ppo, rollout


def play_mean(ppo: Ppo, env: ToyVector) -> tuple[float, dict[str, float]]:
    """One episode of the mean actions: mean reward, and the environment's own figures over its last ten steps."""
    runner = PolicyRunner(ppo.policy.state_dict())
    observations, _ = env.reset(seed=1000)
    state = runner.initial_state(env.num_envs)
    rewards, figures = [], []
    for _ in range(env.horizon):
        actions, state = runner(observations, state)
        observations, reward, _, ended, infos = env.step(actions)
        rewards.append(reward.mean())
        figures.append({name: float(value.mean()) for name, value in infos.items() if name in ("share", "queue")})
        if ended.any():
            figures[-1] = figures[-2]  # infos describe the next episode already
    return float(np.mean(rewards)), {name: np.mean([f[name] for f in figures[-10:]]) for name in figures[0]}


def test_learns_to_remember() -> None:
    """Without memory no policy scores above -0.225 (right at the first of ten steps, blind afterwards)."""
    env = RememberCue()
    ppo, _ = learn(env, PpoOptions(total_decisions=120_000, gamma=0.9))
    reward, _ = play_mean(ppo, env)
    assert reward > -0.01


def test_learns_to_fill_a_queue_just_enough() -> None:
    """From ten packets to an unknown BDP of 20 to 200, told of each change a round trip late."""
    env = FluidQueue()
    untrained, before = play_mean(Ppo(env, PpoOptions(), seed=1), env)
    ppo, _ = learn(env, PpoOptions(total_decisions=160_000))
    reward, after = play_mean(ppo, env)
    assert untrained < 0.3
    assert before["share"] < 0.3
    assert reward > 0.75
    assert after["share"] > 0.9
    assert after["queue"] < 0.2


def test_truncation_is_no_death() -> None:
    """A reward of 1 for ever is worth 1 / (1 - gamma) = 10; with deaths every 5 steps it would be worth 1 to 4.1."""
    env = Endless()
    ppo, _ = learn(env, PpoOptions(total_decisions=40_000, rollout_decisions=512, gamma=0.9, gae_lambda=0.9))
    rollout = ppo.collect()
    assert rollout is not None
    _, returns, _ = ppo.advantages(rollout)
    assert returns.min() > 9
    assert returns.max() < 11


def constant_critic(ppo: Ppo, value: float) -> None:
    """Make the critic say ``value`` everywhere."""
    last = ppo.critic.body[-1]
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(value)


def test_advantages_by_hand() -> None:
    """Stretches of 3, 5, 2 steps, values 7: delta = 1 + 0.5 * 7 - 7 = -2.5, then GAE with 0.5 * 0.5 back to the end."""
    env = Endless(num_envs=1, horizon=5)
    ppo = Ppo(env, PpoOptions(rollout_decisions=10, gamma=0.5, gae_lambda=0.5), seed=0)
    env.age[:] = 2
    constant_critic(ppo, 7.0)
    rollout = ppo.collect()
    assert rollout is not None
    assert [rows.tolist() for rows in rollout.stretches] == [[0, 1, 2], [3, 4, 5, 6, 7], [8, 9]]
    assert rollout.ended == [True, True, False]
    advantages, returns, _ = ppo.advantages(rollout)
    end, before_end, first = -2.5, -2.5 * 1.25, -2.5 * 1.3125
    np.testing.assert_allclose(advantages[:3], [first, before_end, end], rtol=1e-6)
    np.testing.assert_allclose(advantages[8:], [before_end, end], rtol=1e-6)
    np.testing.assert_allclose(returns, advantages + 7, rtol=1e-6)
    rollout.terminated[0] = True  # nothing comes after: delta = 1 - 7
    advantages, _, _ = ppo.advantages(rollout)
    np.testing.assert_allclose(advantages[2], -6.0, rtol=1e-6)
    np.testing.assert_allclose(advantages[7], end, rtol=1e-6)


def test_rollouts_continue_episodes() -> None:
    """Cutting the same play into rollouts elsewhere changes neither the states nor the critic's memory."""
    whole = Ppo(FluidQueue(num_envs=2, horizon=8), PpoOptions(rollout_decisions=24), seed=3)
    parts = Ppo(FluidQueue(num_envs=2, horizon=8), PpoOptions(rollout_decisions=8), seed=3)
    one = whole.collect()
    assert one is not None
    _, _, memory = whole.advantages(one)
    states, memories = [], []
    for _ in range(3):
        part = parts.collect()
        assert part is not None
        states.append(part.states)
        memories.append(parts.advantages(part)[2])
    np.testing.assert_allclose(np.concatenate(states), one.states, atol=1e-6)
    np.testing.assert_allclose(np.concatenate(memories), memory, atol=1e-6)
    assert not one.states.reshape(12, 2, -1)[[0, 8]].any(), "an episode begins without memory"
    assert one.states.reshape(12, 2, -1)[[1, 9]].any()


def test_infos_at_the_end_of_an_episode_are_its_own() -> None:
    env = FluidQueue(num_envs=1, horizon=4)
    ppo = Ppo(env, PpoOptions(rollout_decisions=8), seed=5)
    rollout = ppo.collect()
    assert rollout is not None
    np.testing.assert_allclose(rollout.rewards, rollout.infos["share"] - rollout.infos["queue"], rtol=1e-5)
    assert rollout.paths[3] == rollout.paths[0] != rollout.paths[4]


def test_runner_equals_the_network() -> None:
    """NumPy for playing, torch for learning: the same numbers, step by step."""
    torch.manual_seed(0)
    policy = Policy(hidden=16)
    with torch.no_grad():
        policy.readout.weight.normal_()
        policy.rnn.bias_hh_l0.normal_()
    observations = np.random.default_rng(0).normal(size=(20, 3, 10)).astype(np.float32)
    with torch.no_grad():
        expected = policy(torch.from_numpy(observations), torch.zeros(3, 16)).numpy()
    runner = PolicyRunner(policy.state_dict())
    state = runner.initial_state(3)
    for t in range(20):
        means, state = runner(observations[t], state)
        np.testing.assert_allclose(means, expected[t], atol=1e-5)


def test_new_policy_holds() -> None:
    runner = PolicyRunner(Policy().state_dict())
    means, _ = runner(np.full((1, 10), 8, np.float32), runner.initial_state(1))
    assert np.abs(means).max() < 0.05


def test_normalisation_keeps_the_critics_opinion() -> None:
    torch.manual_seed(0)
    critic = Critic(path_size=2)
    arguments = torch.randn(6, 4, 10), torch.randn(6, 4, 2), torch.zeros(4, 64)
    with torch.no_grad():
        before = critic(*arguments)[0] * critic.scale + critic.shift
        critic.follow(torch.randn(1000) * 30 + 50, rate=0.5)
        after = critic(*arguments)[0] * critic.scale + critic.shift
    torch.testing.assert_close(after, before, atol=1e-4, rtol=1e-4)
    assert float(critic.scale) == pytest.approx(30, rel=0.1)
    assert float(critic.shift) == pytest.approx(50, rel=0.1)


def test_weights_stay_within_int16_range() -> None:
    ppo, _ = learn(FluidQueue(), PpoOptions(total_decisions=20_000, learning_rate=0.1, weight_limit=0.5))
    for weight in ppo.policy.parameters():
        assert weight.abs().max() <= 0.5


@pytest.mark.parametrize(
    ("name", "value"), [("gamma", 1.5), ("epochs", 0), ("clip", float("nan")), ("total_decisions", -1), ("hidden", 17)]
)
def test_options_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Ppo(Endless(), PpoOptions(**{name: value}), seed=0)
